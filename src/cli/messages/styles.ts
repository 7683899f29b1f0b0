type Style = (text: string) => string;

/** The few styles of messages, readable on a dark and on a light ground. */
export interface Styles {
  readonly red: Style;
  readonly yellow: Style;
  readonly dim: Style;
}

const as =
  (begin: number, end: number): Style =>
  (text) =>
    `\u001b[${begin}m${text}\u001b[${end}m`;
const plain: Style = (text) => text;

const styled: Styles = { red: as(31, 39), yellow: as(33, 39), dim: as(2, 22) };
const unstyled: Styles = { red: plain, yellow: plain, dim: plain };

/** Without a library: most runs say a line or two, and a pipe none in colour. */
export function stylesOf(color: boolean): Styles {
  return color ? styled : unstyled;
}
