import type { JsonText, JsonView } from '../json/text.ts';

/** A column of CSV: its header, and the part of a record that goes under it. */
export interface Column {
  readonly header: string;
  /** In --columns, its header means this column, although a record has a member of that name. */
  readonly overPath?: true;
  value(record: JsonView): JsonText | undefined;
}

/** What is shown of a kind of record. Fixed before the first row, so that every day's file has the same header. */
export interface Layout {
  readonly columns: readonly Column[];
  /** Chosen with --columns: JSON and JSONL then hold flat objects of these instead of the whole record. */
  readonly chosen: boolean;
  /** What a table shows, where that is not the columns. */
  readonly table?: readonly TableColumn[];
  /** Of leads, whose table is made by what draws it: the enrich fields that were requested. */
  readonly enrichFields?: readonly string[];
  /** What the sheet of a single answer shows, where that is not the columns. */
  sheet?(record: JsonView): readonly Column[];
  /** Shown to people as running text with its sources. */
  readonly prose?: true;
  /** Is shown the first records before they are written. Throws when `signal` aborts. */
  learn?(records: readonly JsonText[], signal?: AbortSignal): Promise<void>;
}

/** A layout that only the answer can tell: made from the first records that are written. Throws when `signal` aborts. */
export type LayoutOf = (records: readonly JsonText[], signal?: AbortSignal) => Layout | Promise<Layout>;

export type Tone = 'red' | 'yellow' | 'green';

/** A column for people. It loads nothing, so that the other formats can carry it along. */
export interface TableColumn {
  readonly header: string;
  /** What stands in a cell: one clean line of any length. */
  text(record: JsonView): string;
  /** The same where a cell has no room for all of it. */
  short?(record: JsonView): string;
  /** The same on a card, where nothing of it is left out; empty where another column says it. */
  long?(record: JsonView): string;
  /** The JSON that a cell is of, where it is of one value: numbers stand on the right, addresses can be followed. */
  value?(record: JsonView): JsonText | undefined;
  /** What a card shows in place of the text, a line each. */
  links?(record: JsonView): readonly Link[];
  /** How a text of this column is coloured. */
  tone?(text: string): Tone | undefined;
  /** How few columns of the terminal still make sense, and how many would be a waste. */
  readonly min: number;
  readonly max: number;
  /** Its part of the room, whatever the rows hold: a table of leads is the same for 3 as for 300. */
  readonly share?: number | undefined;
  /** How many lines a cell may take; 1 where it is not said. */
  readonly lines?: number;
  /** On a card the title and its detail come first, links and body without a label. */
  readonly role?: 'title' | 'detail' | 'link' | 'body';
  /** Left out of a table in which the others would not be whole: the lowest number first, and of equals (true is 1) the first. */
  readonly yields?: boolean | number;
  /** Its header may be cut where the cells of others need the room. */
  readonly shrinks?: true;
}

export interface Link {
  readonly text: string;
  readonly address: string | undefined;
}
