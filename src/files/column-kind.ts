/* Decides whether a column holds numbers, for formats that distinguish numbers from text. */

/** Digits that Excel, and any program that reads doubles, keeps exactly. */
const maxDigits = 15;

/** Whether a text is only a number, without a leading zero or a plus. */
export function isPlainNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) && fitsNumber(text);
}

/** Whether a written number keeps all of its digits as a double. */
export function fitsNumber(written: string): boolean {
  const digits = written.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');
  return digits.length <= maxDigits && Math.abs(Number(written)) < 10 ** maxDigits;
}

/** Of ten filled cells, this many must be numbers. */
const nearlyAll = 9;

/** Counts the cells of a column to find out whether it holds numbers. */
export class ColumnKind {
  #numbers = 0;
  #others = 0;
  #isCode = false;

  /** `isNumber`: whether it is a number in the JSON. */
  add(text: string, isNumber: boolean): void {
    if (isNumber ? fitsNumber(text) : isPlainNumber(text)) this.#numbers += 1;
    else {
      this.#others += 1;
      // A zip code or a phone number, so the cells without a zero or a plus are codes too.
      this.#isCode ||= /^(?:0|\+)\d+$/.test(text);
    }
  }

  /** Whether the column is written as numbers (some cells may be text). Otherwise every cell is written as text. */
  get isNumeric(): boolean {
    const areNearlyAll = this.#numbers * (10 - nearlyAll) >= this.#others * nearlyAll;
    return !this.#isCode && this.#numbers > 0 && areNearlyAll;
  }
}
