// The page About: all of it is there without a script, except the button that prints.

document.getElementById("print").addEventListener("click", () => window.print());
