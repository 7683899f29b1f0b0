import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toNameParts } from '../../src/columns/name-parts.ts';

/** First name | last name. */
const names = `
  Ada | Example
  Ada Maria | Example
  | Example
  Anna-Lena | O'Neil-Smith
  J. R. R. | Tolkien
  Gabriel García | Márquez
  Vincent | van Gogh
  Jan | van der Berg
  Jan | van den Broek
  | van der Berg
  Van | Morrison
  Ludwig | von Beethoven
  Ursula | von der Leyen
  Oscar | De La Renta
  Juan Carlos | de la Vega
  Maria | da Silva
  João | dos Santos
  Leonardo | di Caprio
  Luca | della Robbia
  Charles | de Gaulle
  Jean-Luc | le Goff
  Otto | zu Guttenberg
  Pieter | 't Hooft
  Osama | bin Example
  Ali | ibn Sina
  José | Ortega y Gasset
  Joan | Pérez i Puig
  Jean | d' Alembert
  Jean | d'Alembert
  Al | Gore
  Ben | Example
  Mary Ben | Smith
  Bao | Le
  Martin Luther | King Jr.
  Ada | Example III
  Ada | Example, PhD
  Ada | Example, MBA, CFA
  Ada | van Example, Jr.
  | 山田太郎
  太郎 | 山田
  | 김철수
  철수 | 김
  | 王小明
  | ジョン・スミス
  Wei | Li
  אדה | כהן
  Ольга | Петрова
`;

describe('the parts of a name', () => {
  const rows = names
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.split('|').map((part) => part.trim()) as [string, string]);

  it.each(rows)('%s | %s', (first, last) => {
    const isEastAsian = /^\p{scx=Han}+$|^\p{scx=Hangul}+$/u.test(last);
    const name = isEastAsian ? `${last} ${first}` : `${first} ${last}`;
    expect(toNameParts(name)).toEqual({ first, last });
  });

  it.each([
    ['Example, Ada', 'Ada', 'Example'],
    ['van der Berg, Jan', 'Jan', 'van der Berg'],
    [' Ada \t Example\u00a0', 'Ada', 'Example'],
    ['山田　太郎', '太郎', '山田'],
    ['Example,', '', 'Example'],
    ['Example, Ada, PhD', 'Ada', 'Example, PhD'],
    ['Example Jr., Ada', 'Ada', 'Example Jr.'],
    ['', '', ''],
    [' ', '', ''],
  ])('%j', (name, first, last) => {
    expect(toNameParts(name)).toEqual({ first, last });
  });

  it('have all words of any name', () => {
    const words = (text: string): string[] =>
      text
        .split(/[\s,]+/)
        .filter(Boolean)
        .sort();
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          fc
            .array(fc.constantFrom('Ada', 'van', 'y', 'Jr.', 'PhD', ',', '山', ' ', 'De'))
            .map((some) => some.join(' ')),
        ),
        (name) => {
          const { first, last } = toNameParts(name);
          expect(words(`${first} ${last}`)).toEqual(words(name));
          expect(last === '').toBe(words(name).length === 0);
        },
      ),
    );
  });
});
