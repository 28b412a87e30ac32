// On a narrow window the menu is behind a button that Redoc gives to the mouse alone.
const menu = document.querySelector(".menu-content + div");
Object.assign(menu, { tabIndex: 0, role: "button", ariaLabel: "Menu" });
menu.addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    menu.click();
  }
});
