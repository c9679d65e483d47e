"""Rounds of each game with what they come to, written from the rule documents by hand.

Cards are in dealing order: P B P B, then the third cards of Player and Banker. What is not listed
loses.
"""

from __future__ import annotations

TIE = "player push, banker push, tie 8"

PAID: dict[str, list[tuple[str, str]]] = {
    "immortal_dragon_tiger": [
        ("5S 2H KH 3D 4C 7H", "player 1"),
        # Player 7 against 8 or 9: Player pushes, and it is no tie.
        ("7D 9C TS TH", "player push, banker 19/20, immortal_dragon 25"),
        ("7D 8C TS TH", "player push, banker 19/20, immortal_dragon 25"),
        # Against a Banker 8 of three cards, too; and with Player's 7 of three.
        ("7D 2C TS 3H 3D", "player push, banker 19/20, immortal_dragon 25"),
        ("2D TC AS 3H 4D 5S", "player push, banker 19/20, immortal_dragon 25"),
        ("7D 7C TS TH", TIE),
        ("7D 6C TS TH", "player 1/2, dragon_tiger 30, small_dragon 15"),
        ("2D 6C KS TH 5H", "player 1/2, dragon_tiger 40, big_dragon 30"),
        ("7D 2C TS 3H AD", "player 1/2, dragon_tiger 40, small_dragon 15"),
        ("2D TC AS 3H 4D 3S", "player 1/2, dragon_tiger 100, big_dragon 30"),
        ("2D TC 2S 3H AD 3S", "banker 19/20, big_tiger 50, player_pair 11"),
        ("2D 6C KS TH AH", "banker 19/20, small_tiger 22"),
        ("6D 6C TS TH", f"{TIE}, tiger_tie 35"),
        ("9D 4C TS 4H", "player 1, banker_pair 11"),
        # Ten and King count the same and are no pair, nor are King and Queen.
        ("TD 9C KS KH", "banker 19/20"),
        ("KD 9C QS TH", "banker 19/20"),
        # A pair of each: two Tens are one.
        ("TD 9C TS 9H", "banker 19/20, player_pair 11, banker_pair 11"),
    ],
    "dragon_tiger_no_commission": [
        ("5S 2H KH 3D 4C 7H", "player 1"),
        ("7D 9C TS TH", "banker 1"),
        ("7D 6C TS TH", "player 1, dragon_tiger 30, small_dragon 15"),
        ("2D 6C KS TH 5H", "player 1, dragon_tiger 40, big_dragon 30"),
        ("7D 2C TS 3H AD", "player 1, dragon_tiger 40, small_dragon 15"),
        ("2D TC AS 3H 4D 3S", "player 1, dragon_tiger 100, big_dragon 30"),
        # Any winning six pays half, of two cards or three.
        ("2D TC 2S 3H AD 3S", "banker 1/2, big_tiger 50"),
        ("2D 6C KS TH AH", "banker 1/2, small_tiger 22"),
        ("6D 6C TS TH", TIE),
    ],
    "tiger": [
        ("5S 2H KH 3D 4C 7H", "player 1"),
        ("7D 9C TS TH", "banker 19/20"),
        ("2D 6C KS TH AH", "banker 19/20, tiger 12, small_tiger 22"),
        # Two Tens against two Kings are Double, not Twin.
        ("TS KH TD KC 5D 6C", "banker 19/20, tiger 20, big_tiger 50, tiger_pair 20"),
        ("9S 9H 9D 9C", f"{TIE}, tiger_pair 100"),
        ("KS KH KD KC 5D 2C", "player 1, tiger_pair 100"),
        ("9S 2H 9D 7C", "banker 19/20, tiger_pair 4"),
        ("2S 9H 7D 9C", "player 1, tiger_pair 4"),
        ("TS 2H KD 7C", "banker 19/20"),
        ("6D 6C TS TH", f"{TIE}, tiger_tie 35"),
    ],
    "dragon_bonus_royal": [
        ("2D TC 3S KH 4D TS", "player 1, player_dragon_bonus 30"),
        ("2D TC 3S KH 4D AS", "player 1, player_dragon_bonus 10"),
        ("2D TC 3S KH 4D 2S", "player 1, player_dragon_bonus 6"),
        ("2D TC 3S KH 4D 3S", "player 1, player_dragon_bonus 4"),
        ("2D TC 3S KH 4D 4S", "player 1, player_dragon_bonus 2"),
        ("2D TC 3S KH 4D 5S", "player 1, player_dragon_bonus 1"),
        ("2D TC 3S KH 4D 6S", "player 1"),
        ("TD QC JS KH TH 9S", "banker 19/20, banker_dragon_bonus 30"),
        ("TD QC JS KH AH 9S", "banker 19/20, banker_dragon_bonus 10"),
        ("TD QC JS KH 2H 9S", "banker 19/20, banker_dragon_bonus 6"),
        ("TD QC JS KH 3H 9S", "banker 19/20, banker_dragon_bonus 4"),
        ("TD QC JS KH 4H 9S", "banker 19/20, banker_dragon_bonus 2"),
        ("TD QC JS KH 5H 9S", "banker 19/20, banker_dragon_bonus 1"),
        ("TD QC JS KH 6H 9S", "banker 19/20"),
        # A natural win pays 1 to 1 at any margin.
        ("9D KC TS QH", "player 1, player_dragon_bonus 1"),
        ("9D 8C TS QH", "player 1, player_dragon_bonus 1"),
        ("KC 9D QH TS", "banker 19/20, banker_dragon_bonus 1"),
        # Equal naturals refund both bonuses; any other tie loses them.
        ("9D 9C TS TH", f"{TIE}, player_dragon_bonus push, banker_dragon_bonus push"),
        ("8D 8C TS TH", f"{TIE}, player_dragon_bonus push, banker_dragon_bonus push"),
        ("7D 7C TS TH", TIE),
        ("6D 6C TS TH", TIE),
        ("2D TC 2S 3H AD 3S", "banker 19/20, fortune_six 20, player_pair 11"),
        ("2D 6C KS TH AH", "banker 19/20, fortune_six 12"),
        ("9D 4C TS 4H", "player 1, player_dragon_bonus 1, banker_pair 11"),
        ("TD 9C KS KH", "banker 19/20, banker_dragon_bonus 1"),
    ],
    "fa_fa_fabulous_4": [
        ("Af Tg 2e 2w Aw Ta", "player 1/2, player_fabulous_4 50"),
        ("Tf Tg Se Lw Aw Ta", "player 2"),
        ("Tf Tg 9e 7w", "player 1"),
        ("Af Tg Te 2w 2f 2g", "banker push, banker_fabulous_4 25"),
        ("Tf Tg Se Lw Ta Aw", "banker 2"),
        ("Tf Tg 7e 9w", "banker 1"),
        # Eight against eight: 800 only when both are two Fours.
        (
            "4f 4w 4e 4a",
            "player push, banker push, tie 800, player_precious_pair 15, banker_precious_pair 15",
        ),
        (
            "4g 4g 4g 4g",
            "player push, banker push, tie 800, player_precious_pair 30, banker_precious_pair 30",
        ),
        ("4f 5g 4e 3w", f"{TIE}, player_precious_pair 15"),
        ("5g 4f 3w 4e", f"{TIE}, banker_precious_pair 15"),
        # Two Fours: 30 needs both Gold; one Gold or none is 15, of one element too.
        ("4g 9e 4g 8w", "player 1, player_precious_pair 30"),
        ("4g 9e 4f 8w", "player 1, player_precious_pair 15"),
        ("4e 9e 4e 8w", "player 1, player_precious_pair 15"),
        ("9e 4g 8w 4g", "banker 1, banker_precious_pair 30"),
        ("9e 4f 8w 4g", "banker 1, banker_precious_pair 15"),
        # Other pairs: 12 needs both Gold.
        ("Lg 9e Lg 8f 9f", "player 1, player_precious_pair 12"),
        ("Lf 9e Lf 8g 9f", "player 1, player_precious_pair 9"),
        ("Lg 9e Lf 8g 9f", "player 1, player_precious_pair 9"),
        ("9g 3e 9g 4e", "player 1, player_precious_pair 12"),
        ("Tg Lg 7e Lg 9f", "banker 1, banker_precious_pair 12"),
        ("Tg Lw 7e Lw 9f", "banker 1, banker_precious_pair 9"),
        # Shou and Lu both count zero and are no pair, Gold or not.
        ("Sg 9e Lg 8g 9f", "player 1"),
        # A tie on four or one: both Fabulous 4 lose.
        ("Tf Tg 4e 4w Ta", TIE),
        ("Tf Tg Se Lw Aw Aa", TIE),
    ],
}
