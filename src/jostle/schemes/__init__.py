"""Time-stepping schemes, one file for each author; `SCHEMES` lists them, and a plug-in or a script can add to it.

>>> sorted(SCHEMES.names())
['catching_up', 'gluey', 'maury', 'moreau_jean', 'paoli', 'venel']
>>> SCHEMES.get("maury")
<class 'jostle.schemes.maury.Maury'>
"""

from jostle.schemes.capabilities import SCHEMES
from jostle.schemes.gluey import glue
from jostle.schemes.state import State

__all__ = ["SCHEMES", "State", "glue"]

SCHEMES.define(
    {
        "maury": "jostle.schemes.maury:Maury",
        "gluey": "jostle.schemes.gluey:Gluey",
        "paoli": "jostle.schemes.paoli:Paoli",
        "moreau_jean": "jostle.schemes.moreau_jean:MoreauJean",
        "venel": "jostle.schemes.venel:Venel",
        "catching_up": "jostle.schemes.catching_up:CatchingUp",
    }
)
