import type { Charged } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';

export interface RowFailure {
  readonly message: string;
  readonly requestId?: string | undefined;
  readonly charged: Charged;
}

/** The result of a row: its answer, or why it has none. */
export type RowOutcome =
  | { readonly answer: JsonText; readonly failure?: undefined }
  | { readonly answer?: undefined; readonly failure: RowFailure };
