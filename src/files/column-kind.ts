/* When the cells of a column are numbers: for formats in which a number and a text are two things. */

/** Excel keeps this many digits, and so does any program that reads a number as a double. */
const maxDigits = 15;

/** Whether a text is only a number, without a leading zero or a plus. */
export function isPlainNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) && fitsNumber(text);
}

/** Whether a number, as it is written, is kept exactly. */
export function fitsNumber(written: string): boolean {
  const digits = written.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');
  return digits.length <= maxDigits && Math.abs(Number(written)) < 10 ** maxDigits;
}

/** Of ten cells with something in them, this many must be numbers. */
const nearlyAll = 9;

/** What is known of a column after all of its cells. */
export class ColumnKind {
  #numbers = 0;
  #others = 0;
  #isCode = false;

  /** `isNumber` is whether JSON has it as a number. */
  add(text: string, isNumber: boolean): void {
    if (isNumber ? fitsNumber(text) : isPlainNumber(text)) this.#numbers += 1;
    else {
      this.#others += 1;
      // A zip code or a phone number: those without a zero or a plus are none less.
      this.#isCode ||= /^(?:0|\+)\d+$/.test(text);
    }
  }

  /** Whether its numbers are numbers, beside which a cell may have a text; otherwise all of them are texts. */
  get isNumeric(): boolean {
    const areNearlyAll = this.#numbers * (10 - nearlyAll) >= this.#others * nearlyAll;
    return !this.#isCode && this.#numbers > 0 && areNearlyAll;
  }
}
