"""The simulated shoes: cards, bolt, key and memory, and what each profile sends of them.

``simulated_shoe`` builds one. ``Judge`` is the test oracle: it knows the Table of Play by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulators.lazy_names import lazy_names

__all__ = [
    "AngelEyeDevice",
    "BeeTekDevice",
    "CardOut",
    "CardSet",
    "CuttingCardOut",
    "Device",
    "EventLog",
    "GroundTruth",
    "Hardware",
    "Judge",
    "Lamp",
    "ReferenceDevice",
    "Refused",
    "Shoe",
    "Stacked",
    "Verdict",
    "simulated_shoe",
]

if TYPE_CHECKING:
    from simulators.shoe.angel_eye import AngelEyeDevice
    from simulators.shoe.bee_tek import BeeTekDevice
    from simulators.shoe.build import simulated_shoe
    from simulators.shoe.device import Device, Lamp
    from simulators.shoe.event_log import EventLog
    from simulators.shoe.ground_truth import GroundTruth
    from simulators.shoe.hardware import Hardware
    from simulators.shoe.judge import Judge, Verdict
    from simulators.shoe.model import CardOut, CardSet, CuttingCardOut, Refused, Shoe, Stacked
    from simulators.shoe.reference import ReferenceDevice
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "AngelEyeDevice": "angel_eye",
            "BeeTekDevice": "bee_tek",
            "simulated_shoe": "build",
            "Device": "device",
            "Lamp": "device",
            "EventLog": "event_log",
            "GroundTruth": "ground_truth",
            "Hardware": "hardware",
            "Judge": "judge",
            "Verdict": "judge",
            "CardOut": "model",
            "CardSet": "model",
            "CuttingCardOut": "model",
            "Refused": "model",
            "Shoe": "model",
            "Stacked": "model",
            "ReferenceDevice": "reference",
        },
    )
