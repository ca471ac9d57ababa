"""The tools of the plugin `weather`: one JSON object in, one JSON value out.

Exit code 0 with JSON is a result; any other exit code is a failed result, and what stands on
standard error says why.
"""

import json
import os
import sys

PLACES = {"Harbour": 14, "Highmoor": 6, "Saltmarsh": 11}
SKIES = ["clear", "cloud", "rain", "cloud", "clear", "snow"]


def place_of(args):
    place = args["place"]
    if place not in PLACES:
        known = ", ".join(sorted(PLACES))
        sys.exit(f"nothing is known of {place!r}; places are {known}")
    return place


def places(_args):
    return {"places": sorted(PLACES)}


def forecast(args):
    place = place_of(args)
    warmth = PLACES[place]
    days = []
    for day in range(1, args.get("days", 3) + 1):
        turn = (warmth + day * 5) % len(SKIES)
        days.append({"day": day, "sky": SKIES[turn], "celsius": warmth + turn - 2})
    return {"place": place, "days": days}


def report(args):
    path = os.environ.get("WEATHER_REPORTS")
    if not path:
        sys.exit("set WEATHER_REPORTS to the file that reports are added to")
    line = {"place": place_of(args), "sky": args["sky"]}
    with open(path, "a", encoding="utf-8") as reports:
        reports.write(json.dumps(line) + "\n")
    return {"content": [{"type": "text", "text": f"Noted: {line['sky']} at {line['place']}."}]}


TOOLS = {"places": places, "forecast": forecast, "report": report}


def main():
    call = json.load(sys.stdin)
    json.dump(TOOLS[call["tool"]](call["args"]), sys.stdout)


main()
