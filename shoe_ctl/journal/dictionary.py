"""The preset dictionary with which groups are deflated: what their parts are likely to hold.

In: nothing. Out: bytes.
"""

from __future__ import annotations

from typing import Final

_WAGERS = (
    '"dragon_bonus_banker","dragon_bonus_player","fabulous_4_banker","fabulous_4_player",'
    '"fabulous_pairs","fa_fa","dragon","egalite","pair_square","big","small","lucky_6",'
    '"odds":"1/2","odds":"11","odds":"20","odds":"35","odds":"50","odds":"8","odds":"12",'
    '"result":"push"},"result":"returned"},"banker_pair":{"player_pair":{"either_pair":{'
)

_RARE = (
    '"method.breached""withdrawal.closed""withdrawal.opened""wagers.restricted""wager.refused"'
    '"outage.opened""outage.closed""review.opened""review.closed""shoe.line_suspended"'
    '"shoe.holder_changed""shoe.not_aligned""shoe.unanswered""shoe.arm_refused""shoe.arm_taken"'
    '"shoe.change_due""shoe.connected","shoe.answered""shoe.counted""shoe.cleared""shoe.refused"'
    '"shoe.opened""shoe.loaded""shoe.alarm""shoe.fault""shoe.noted""shoe.told""shoe.lost"'
    '"table.resumed","table.halted","table.started""method.changed","round.card_corrected"'
    '"round.card_entered""round.entry_compared""round.first_hand""round.revised""round.void"'
    '"delivery.parked""delivery.taken""command.unrecorded""command.refused""frame.discarded"'
    '"irregularity.resolved"irregularity.raised"irregularity.step"instance_id":"key":"choices":['
    '"choice":"reason":"person":"position":"gaming_shift_manager""pit_manager""pit_supervisor"'
    '"consented_by":"message":{"code":"args":{"by":"command_id":"'
    '{"after":"state":{"state":"betting","t_us":,"inputs":,"shoes":,"rounds":,"irregularities":'
    ',"instances":{"public":,"restricted":},"host_boot":null,"shoe":{"round":{"link":{"up":true,'
    '"arm":false,"replay":false,"judges":true,"names_hands":true,"commands":false,'
    '"commands_known":[],"queries_known":[],"authenticated":false,"identified":true,'
    '"aligned":true,"device_id":"boot_id":null,"reports_arming":false,"connected":true,'
    '"claim":null,"refusal":null,"suspended":null,"since_us":0},"halt":null,'
    '"pending_irregularities":[],"unplaced":[],"pending_set":null,"arming":null,"wake_us":null,'
    '"answered":{},"answers":{},"outcomes":[["last_settled":null,"outbox":{"count":0,'
    '"waiting":[],"last":null},"undelivered":[]},"rules":"software":"0.2.0","format":2}'
    '{"input":"link_up","t_us":,"connection":,"profile":"reference","arm":true,"replay":true}'
    '{"input":"link_lost","t_us":,"connection":,"reason":"{"input":"restarted","t_us":'
    '{"call":"desire","armed":[{"call":"tick","t_s":{"call":"command","calls":[],"connection":'
    '"set_id":"deck":"french52","decks":8,"device_id":"firmware":"boot_id":"drawn":,"resumed":true'
    '"type":"hello","type":"shoe_loaded","type":"cutting_card","type":"discarded","count":1,'
    '"type":"cards_drawn","cards":["order_known":false,"type":"card_returned","type":"alarm",'
    '"type":"shuffled","type":"started","type":"gap","hand":"burn","index":null,"placed":false,'
)

_FREQUENT = (
    'tick"}command","command_id":"","command":"'
    '"place_your_bets","no_more_bets","announce_totals","announce_outcome","settle","expose",'
    '"args":{"hand":"player"},"args":{"hand":"banker"},"args":{},"person":"","position":"dealer",'
    '"user":"","on_behalf_of":null,"reason":null,"consented_by":null}'
    'shoe","event":{"type":"result","winner":"player","player_pair":true,"banker_pair":true},'
    '"connection":1,"seq":"'
    'shoe","event":{"type":"result","winner":"tie","player_pair":false,"banker_pair":false},'
    '"connection":1,"seq":"'
    'shoe","event":{"type":"result","winner":"banker","player_pair":false,"banker_pair":false},'
    '"connection":1,"seq":"'
    'shoe","event":{"type":"standby"},"connection":1,"seq":"'
    '"hand":"player","index":3,"face_up":false},"hand":"banker","index":3,"face_up":false},'
    '"hand":"banker","index":1,"face_up":false},"hand":"banker","index":2,"face_up":false},'
    '"hand":"player","index":2,"face_up":false},'
    'shoe","event":{"type":"card_drawn","card":"8C","hand":"player","index":1,"face_up":false},'
    '"connection":1,"seq":"1","first":'
    'shoe","event":{"type":"card_drawn","card":"KD","number":1,"armed":true,"face_up":false,'
    '"confidence":100},"connection":1,"seq":1,"first":'
    'shoe","event":{"type":"status","armed":1,"drawn":1,"unacknowledged":0,'
    '"locked_by_key":false},"connection":1,"seq":null,"first":'
    'shoe","event":{"type":"status","drawn":1,"unacknowledged":1,"locked_by_key":false},'
    '"connection":1,"seq":null,"first":1,"last":1}'
    'round.outcome","subject":""data":{"banker":{"cards":["4H","KS","2D"],"natural":true,'
    '"total":8},"game":"tiger","game_sha256":'
    '"c0bb5bd25a3e1a2b960d1e77470d2258e2a5115ddf0fef8b4e06d8866e815ab9",'
    '"inferred":true,"manual":false,"method":"B","player":{"cards":["AC","9H","TD"],'
    '"natural":false,"total":0},"round_id":"","rules":["3.16"],"shoe_id":"","table":"",'
    '"wagers":{"banker":{"result":"lose"},"big_tiger":{"result":"lose"},"player":{"odds":"1",'
    '"result":"win"},"small_tiger":{"result":"lose"},"tie":{"odds":"8","result":"win"},"tiger":{'
    '"tiger_pair":{"odds":"8","result":"win"},"tiger_tie":{"odds":"35","result":"win"}},'
    '"winner":"tie"},"player":{"result":"push"},"banker":{"result":"push"},'
    '"wagers":{"banker":{"odds":"19/20","result":"win"},"big_tiger":{"result":"lose"},'
    '"player":{"result":"lose"},"small_tiger":{"result":"lose"},"tie":{"result":"lose"},'
    '"tiger":{"result":"lose"},"tiger_pair":{"result":"lose"},"tiger_tie":{"result":"lose"}},'
    '"winner":"player"},"winner":"banker"},"specversion":"1.0"}'
    'round.settled","subject":"-s1-r1","data":{"inferred":false,"round_id":"'
    'round.bets_closed","subject":"-s1-r1","data":{"inferred":true,"round_id":"'
    'round.opened","subject":"-s1-r1","data":{"inferred":true,"round_id":"","shoe_id":"'
    'round.total_announced","subject":"-s1-r1","data":{"hand":"player","inferred":true,'
    '"round_id":"","total":"hand":"banker","inferred":true,"round_id":"'
    'round.card_drawn","subject":"-s1-r1","data":{"card":"8C","hand":"player","index":2,"number":'
    '"hand":"banker","index":2,"number":"hand":"player","index":1,"number":'
    '"hand":"banker","index":1,"number":"hand":"player","index":3,"number":'
    '"hand":"banker","index":3,"number":1'
    'round.card_revealed","subject":"-s1-r1","data":{"card":"KH","hand":"player","index":2,'
    '"round_id":"round.card_dealt","subject":"-s1-r1","data":{"face":"up","hand":"player","index":1,'
    '"round_id":"","hand":"player","index":2,"round_id":"","hand":"player","index":3,"round_id":"'
    '","hand":"banker","index":3,"round_id":"","hand":"banker","index":2,"round_id":"'
    'round.card_dealt","subject":"bac-01-s1-r1","data":{"face":"up","hand":"banker","index":1,'
    '"round_id":"bac-01-s1-r1","total":0},"specversion":"1.0"}'
    '","data":{"round_id":"bac-01-s1-r1"},"specversion":"1.0"}'
)

DICTIONARY: Final = (_WAGERS + _RARE + _FREQUENT).encode()
"""It never changes: another one needs another form of groups. What is frequent stands last: deflate
writes a place near the end in fewer bits."""
