import type { Row } from './row.ts';
import { authenticationRows, balanceRows, errorRows, foreignRows } from './sections/accounts.ts';
import { contactRows, deepSearchRows, enrichRows } from './sections/answers.ts';
import { postRows } from './sections/common.ts';
import { eventRows } from './sections/events.ts';
import { extractRows } from './sections/extract.ts';
import { fetchRows } from './sections/fetch.ts';
import { searchRows } from './sections/searches.ts';
import { settlementRows } from './sections/settlement.ts';
import { createTaskRows, runningRows, statusRows } from './sections/tasks.ts';

/** Every row, in the order in which they run: the balance first, while nothing of this run is under way. */
export const rows: readonly Row[] = [
  balanceRows,
  settlementRows,
  runningRows,
  foreignRows,
  authenticationRows,
  postRows,
  searchRows('search'),
  eventRows,
  createTaskRows,
  statusRows,
  fetchRows,
  contactRows,
  deepSearchRows,
  enrichRows,
  extractRows,
  errorRows,
].flat();
