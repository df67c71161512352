/** Starts the page. */

import "./style.css";
import "uplot/dist/uPlot.min.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { live } from "./state/live.svelte.js";

const page = document.getElementById("page")!;
page.replaceChildren();
mount(App, { target: page });
live.start();
