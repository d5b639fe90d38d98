"""What `python3 lab.py` and `ringlab lab` give JupyterLab.

copies.py    learners' copies of the lessons, without the outputs that give the answers away
start.py     JupyterLab on this machine only, with no news, no update check and no outside request
masters.py   the committed notebooks: run again, kept clean, checked
labconfig/   JupyterLab's own settings, found through JUPYTER_CONFIG_PATH
"""
