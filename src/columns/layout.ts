import type { JsonText, JsonView, Source } from '../json/text.ts';

/** A column of CSV: its header, and the part of a record that goes under it. */
export interface Column {
  readonly header: string;
  /** The original header in the input of a list, for raw CSV. */
  readonly rawHeader?: string | undefined;
  /** Minimum width in a table, which never cuts this column, even if the first rows are empty. */
  readonly keeps?: number;
  /** When a table leaves it out: `spare`: while empty, if others need the width; `yields`: if others would be cut; `never`: always. */
  readonly inTable?: 'spare' | 'yields' | 'never';
  /** The text for a missing value in a sheet. */
  readonly none?: string;
  readonly from: Source;
}

/** The names of record kinds in a file with several: the tables of a database. */
export type RecordsName = 'leads' | 'contacts' | 'answers' | 'enriched' | 'items';

/** How a kind of record is shown. It is fixed before the first row, so that every day's file has the same header. */
export interface Layout {
  readonly columns: readonly Column[];
  /** Columns that are only there where the user chooses them. */
  readonly offered?: readonly Column[];
  /** All members of the records, if known. */
  readonly members?: readonly string[] | undefined;
  readonly records?: RecordsName | undefined;
  /** Chosen by the user: JSON and JSONL then hold flat objects of these columns. */
  readonly chosen?: true;
  /** The columns of a table, if different. */
  table?(): readonly TableColumn[];
  /** For leads: the requested enrich fields. The table code makes their columns. */
  readonly enrichFields?: readonly string[];
  /** The columns of a single answer's sheet, if they are not the same. */
  sheet?(record: JsonView): readonly Column[];
  /** Shown to people as running text with sources. */
  readonly prose?: true;
}

/** A layout that depends on the first records that are written. Throws when `signal` aborts. */
export type LayoutOf = (records: readonly JsonText[], signal?: AbortSignal) => Layout | Promise<Layout>;

/** How records are printed: rows, or one answer. */
export interface Printed {
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
}

export type Tone = 'red' | 'yellow' | 'green';

/** A column of a table for people. Its functions load no table code, so other formats can pass it on. */
export interface TableColumn {
  readonly header: string;
  /** The text of a cell: one clean line of any length. By default that of its value. */
  text?(record: JsonView): string;
  /** A shorter text, for a cell where the text would be cut. */
  short?(record: JsonView): string;
  /** The full text, for a card; empty where another column shows it. */
  long?(record: JsonView): string;
  /** The JSON value of a cell, if it has only one: numbers are aligned to the right, addresses become links. */
  value?(record: JsonView): JsonText | undefined;
  /** The links that a card shows in place of the text, one per line. */
  links?(record: JsonView): readonly Link[];
  /** The colour of a text in this column. */
  tone?(text: string): Tone | undefined;
  /** Minimum and maximum useful width, in columns of the terminal. */
  readonly min: number;
  readonly max: number;
  /** Its share of the width, independent of the rows: a table of 3 leads looks like one of 300. */
  readonly share?: number | undefined;
  /** How many lines a cell may have; 1 by default. */
  readonly lines?: number;
  /** Never cut: it gets its width first, and longer cells wrap. */
  readonly keeps?: true;
  /** On a card, title and detail come first, and have no label. */
  readonly role?: 'title' | 'detail' | 'link' | 'body';
  /** Left out where the other columns would be cut otherwise: the lowest number first, then the leftmost (true counts as 1). */
  readonly yields?: boolean | number;
  /** Left out first while it is empty. */
  readonly isSpare?: true | undefined;
  /** Its header may be cut where cells of other columns need the room. */
  readonly shrinks?: true;
}

export interface Link {
  readonly text: string;
  readonly address: string | undefined;
}
