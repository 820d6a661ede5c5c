// A person at JupyterLab: a real page in a real Chromium, looked at and clicked on.
//
//     node jupyter_lab.mjs MODULES CHROMIUM URL TOKEN PROFILE
//
// MODULES is the folder that puppeteer-core is installed in, URL and TOKEN are JupyterLab's,
// PROFILE is a folder for the browser. What has to come is waited for, never slept for.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// Less than whoever started this waits, who would not know what was missing.
const PATIENCE = 40_000;

const [modules, chromium, url, token, profile] = process.argv.slice(2);
const { launch } = createRequire(join(modules, "package.json"))("puppeteer-core");

const browser = await launch({
  executablePath: chromium,
  userDataDir: profile,
  timeout: PATIENCE,
  protocolTimeout: PATIENCE,
  // Chromium's own sandbox does not work for root, and small machines have a small /dev/shm. All
  // that is shown here is our own.
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const [page] = await browser.pages();
page.setDefaultTimeout(PATIENCE);
// High enough for all cells: those out of sight are not in the page.
await page.setViewport({ width: 1200, height: 2000 });
// A page that asks whether it may be left may.
page.on("dialog", (dialog) => dialog.accept());
const said = [];
page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
page.on("pageerror", (error) => said.push(`${error}`));

/** Open a file, and nothing that was open before. */
const open = (name) =>
  page.goto(`${url}/lab/tree/${name}?reset&token=${token}`, { waitUntil: "domcontentloaded" });

/** What the page shows for each cell: its number, the text of its outputs, the width of its picture. */
const cells = () =>
  page.$$eval(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell", (cells) =>
    cells.map((cell) => {
      const outputs = [...cell.querySelectorAll(".jp-OutputArea-output")];
      const picture = cell.querySelector(".jp-OutputArea-output img");
      return {
        number: cell.querySelector(".jp-InputPrompt").innerText.trim(),
        text: outputs.map((output) => output.innerText).join("\n").trim(),
        width: picture?.complete ? picture.naturalWidth : 0,
      };
    }),
  );

/** The cells, once their texts are such and there is a plot. */
async function shows(expected) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const seen = await cells();
    const is =
      seen.length === expected.length &&
      seen.every(({ number, text }, at) => number === `[${at + 1}]:` && expected[at].test(text));
    if (is && seen[1].width > 100) return;
    assert(Date.now() < deadline, `the page shows ${JSON.stringify(seen)}`);
    await sleep(100);
  }
}

/** Wait until this holds for the open notebook, by JupyterLab's own objects. */
const notebook = (holds) =>
  page.waitForFunction(`(() => {
    const widgets = [...(window.jupyterapp?.shell.widgets("main") ?? [])];
    const panel = widgets.find((widget) => widget.sessionContext);
    return panel !== undefined && (${holds})(panel);
  })()`);

/** What `pillion notebook run` wrote is there when the file is opened. */
async function look() {
  await open("written.ipynb");
  await shows([/^printed by pillion$/, /^$/, /ZeroDivisionError: division by zero$/]);
}

/** All cells are run by the menu, a question is answered, the file is saved. */
async function work() {
  await open("run.ipynb");
  // Before that the page may take the kernel for idle and forget what it is told to run.
  await notebook((panel) => {
    const kernel = panel.sessionContext.session?.kernel;
    return kernel?.connectionStatus === "connected" && kernel.status === "idle";
  });
  await page.locator("::-p-xpath(//*[@id='jp-MainMenu']//li[.//div[text()='Run']])").click();
  await page.locator("li[data-command='runmenu:run-all']").click();
  const field = await page.waitForSelector(".jp-Stdin-input");
  await field.type("Ada");
  await field.press("Enter");
  await shows([/^printed in \/lane\/work$/, /^$/, /hello Ada$/, /ZeroDivisionError: division by zero$/]);
  await page.locator(".jp-NotebookPanel-toolbar [data-jp-item-name='save'] jp-button").click();
  await notebook((panel) => !panel.context.model.dirty);
}

try {
  await look();
  await work();
} catch (error) {
  console.error(`${error.stack}\nsaid by the page:\n${said.slice(-30).join("\n")}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
