/** Characters. Programs can't calculate with longer numbers. */
const longest = 40;

/** Pure: whether JSON.parse keeps the value of a number. Its form does not matter: 1.10 and 11e-1 are the same. */
export function isExact(number: string): boolean {
  const value = number.length > longest ? undefined : decimalOf(number);
  return value !== undefined && value === decimalOf(String(Number(number)));
}

/** The significant digits, and how many of them are before the point; undefined for what is not a finite number. */
function decimalOf(number: string): string | undefined {
  const [, sign, whole, fraction = '', exponent = 0] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? [];
  if (whole === undefined) return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  return significant === ''
    ? '0'
    : `${sign}${significant}e${Number(exponent) - fraction.length + digits.length}`;
}
