// The looks of the reference page, those of the dashboard.

const text = "#1b2326";
const accent = "#0b6b5e";

export const theme = {
  spacing: { unit: 5, sectionHorizontal: 32, sectionVertical: 28 },
  breakpoints: { small: "50rem", medium: "78rem", large: "100rem" },
  colors: {
    primary: { main: accent },
    success: { main: "#11613f" },
    error: { main: "#9b1c1c" },
    warning: { main: "#724500" },
    text: { primary: text, secondary: "#57646b" },
    border: { dark: "#c9d0d4", light: "#dfe3e6" },
    // On the dark panel of samples; colours beside are for the light one.
    responses: {
      success: { color: "#11613f", backgroundColor: "#e2f4ea", tabTextColor: "#86dbaf" },
      error: { color: "#9b1c1c", backgroundColor: "#fdeaea", tabTextColor: "#ffa8a3" },
    },
    http: {
      get: "#11613f", post: "#1a4d96", put: "#724500", patch: "#724500", delete: "#9b1c1c", head: "#46525a", options: "#46525a", basic: "#46525a", link: "#46525a",
    },
  },
  schema: { nestedBackground: "#f6f7f8", linesColor: "#9fb0b6", typeNameColor: "#57646b", typeTitleColor: "#57646b", requireLabelColor: "#9b1c1c" },
  typography: {
    fontSize: "16px",
    lineHeight: "1.55",
    fontFamily: "system-ui, sans-serif",
    optimizeSpeed: true,
    headings: { fontFamily: "system-ui, sans-serif", fontWeight: "600", lineHeight: "1.3" },
    code: {
      fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace", fontSize: "14px", lineHeight: "1.55",
      color: text, backgroundColor: "#eceff1", wrap: false,
    },
    links: { color: accent, visited: accent, hover: "#084f45", textDecoration: "underline", hoverTextDecoration: "underline" },
  },
  sidebar: { width: "17rem", backgroundColor: "#f6f7f8", textColor: text, activeTextColor: accent },
  rightPanel: { backgroundColor: "#191f22", width: "40%", textColor: "#e6eaec" },
  codeBlock: { backgroundColor: "#111517" },
  fab: { backgroundColor: "#fff", color: accent },
};
