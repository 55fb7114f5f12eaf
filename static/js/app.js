// The entry: every page works without it; each module adds one thing.
import { startTimes } from "./times.js";
import { startTheme } from "./theme.js";
import { startMenus } from "./menus.js";
import { enhance } from "./enhance.js";
import { startParts } from "./parts.js";
import { startInbox } from "./inbox.js";
import { startDeciding } from "./deciding.js";
import { startRemarks } from "./remarks.js";
import { startTalk } from "./talk.js";
import { startKeys } from "./keys.js";
import { startPicture } from "./picture.js";
import { startLive } from "./live.js";

startParts();
enhance(document);
startTimes();
startTheme();
startMenus();
startDeciding();
startRemarks();
startInbox();
startTalk();
startPicture();
startKeys();
startLive();
