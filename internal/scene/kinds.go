package scene

// kind is a sort of scene and how to compose one of it. Keywords are not listed
// here: they come from what ends up visible.
type kind struct {
	name  string
	paint func(*painting)
}

var kinds = []kind{
	{"beach by day", beachDay},
	{"beach at sunset", beachSunset},
	{"sailing", sailing},
	{"harbour", harbour},
	{"lighthouse", coast},
	{"city by day", cityDay},
	{"city by night", cityNight},
	{"street", street},
	{"snowy mountains", snowyMountains},
	{"mountain lake", mountainLake},
	{"foggy lake", foggyLake},
	{"starry mountains", starryMountains},
	{"fir forest", firForest},
	{"autumn forest", autumnForest},
	{"summer forest", summerForest},
	{"flower meadow", meadow},
	{"rainbow over fields", rainbowField},
	{"dunes", dunes},
	{"cactus desert", cactusDesert},
	{"road to the horizon", openRoad},
	{"campfire", campfire},
	{"river with a bridge", riverBridge},
	{"village", village},
	{"winter village", winterVillage},
	{"rainy street", rainyRoad},
	{"blossom", blossomScene},
	{"savanna at sunset", savanna},
	{"pasture", pasture},
	{"balloons", balloons},
}
