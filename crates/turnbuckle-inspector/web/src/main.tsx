import { render } from "preact";
import { start } from "./store/events.ts";
import { storeOnLeave } from "./store/storage.ts";
import { followTitle } from "./store/title.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/lists.css";
import "./styles/form.css";
import "./styles/tree.css";
import "./styles/result.css";
import "./styles/server.css";
import "./styles/wire.css";
import "./styles/dialogs.css";
import "./styles/narrow.css";
import { startCommands } from "./views/commands.ts";
import { applyTheme } from "./views/rail/theme.tsx";
import { Shell } from "./views/shell/shell.tsx";

const root = document.getElementById("app");
if (root) {
  applyTheme();
  followTitle();
  startCommands();
  storeOnLeave();
  render(<Shell />, root);
  void start();
}
