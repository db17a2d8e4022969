"""The words sessions are named by until a person names them."""

from __future__ import annotations

from collections.abc import Collection

_LIST = """
amber birch cedar dahlia eagle falcon galaxy harbor indigo jade kelp lagoon magnolia nectar oak palm
quail rain saffron tamarind umber valley walnut yarrow zephyr acorn badger canyon daisy ebony fennel
garnet harvest iris jasmine kestrel lake mallow nettle oasis papaya quarry raven sage tansy vanilla
warbler yew zinnia agate bamboo caper damson echo fern geyser hawk iron jasper kite larch mango nickel
oat pear quartz reed sandstone teal velvet waterfall alder barley cherry dawn eddy fig ginger hazel
island jay lark maple nimbus ocean pebble quince reef sapphire tern verbena wheat almond basalt chestnut
delta elder finch glacier heath ivory juniper laurel marble nutmeg olive pepper ridge sequoia thistle
violet willow anchor basil cinder dew elm fir glade heather ivy lava marsh onyx pewter river shale thyme
winter apple bay citrus dogwood ember fjord grove hemlock lavender marten opal pine robin shore tide
wren apricot beacon clay dove flax gull heron lemon meadow orchard plover rook sienna timber arbor beech
cliff dune flint hickory lichen mercury orchid plum rowan silver topaz arrow berry clover dusk forest
hollow lilac mesa oregano pollen ruby slate tulip ash bramble cobalt fox honey lily mica osprey poplar
rush sorrel tundra aspen breeze comet frost horizon linden mint otter poppy rye sparrow turquoise aster
bridge copper lotus mist owl prairie spruce autumn bronze coral lupin moss prism starling brook cove
lynx mulberry stone crane myrtle summit cricket
"""
WORDS = tuple(_LIST.split())
"""In the order they are given out; neighbours begin with different letters, so that they are not confused."""


def is_picked(name: str) -> bool:
    """Whether this is a name as `pick` gives them, which no person is likely to have chosen."""
    word, _, number = name.partition("-")
    return word in WORDS and (name == word or (number.isdecimal() and name == f"{word}-{number}"))


def pick(taken: Collection[str]) -> str:
    """The first word that is not in `taken`; when all are, the first that is free with a number, from 2."""
    for word in WORDS:
        if word not in taken:
            return word
    number = 2
    while True:
        for word in WORDS:
            if f"{word}-{number}" not in taken:
                return f"{word}-{number}"
        number += 1
