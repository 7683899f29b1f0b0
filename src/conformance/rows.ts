import type { Row } from './row.ts';
import { authenticationRows } from './sections/authentication.ts';
import { balanceRows } from './sections/balance.ts';
import { contactRows } from './sections/contact.ts';
import { createTaskRows } from './sections/create-task.ts';
import { deepSearchRows } from './sections/deep-search.ts';
import { enrichRows } from './sections/enrich.ts';
import { errorRows } from './sections/errors.ts';
import { eventRows } from './sections/events.ts';
import { extractRows } from './sections/extract.ts';
import { fetchRows } from './sections/fetch.ts';
import { postRows } from './sections/posts.ts';
import { searchRows } from './sections/search.ts';
import { settlementRows } from './sections/settlement.ts';
import { statusRows } from './sections/status.ts';

/** Every row, in the order in which they run: the balance first, while nothing of this run is under way. */
export const rows: readonly Row[] = [
  ...balanceRows,
  ...settlementRows,
  ...authenticationRows,
  ...postRows,
  ...searchRows,
  ...eventRows,
  ...createTaskRows,
  ...statusRows,
  ...fetchRows,
  ...contactRows,
  ...deepSearchRows,
  ...enrichRows,
  ...extractRows,
  ...errorRows,
];
