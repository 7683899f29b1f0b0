import type { Row } from '../row.ts';
import { authenticationRows, balanceRows, errorRows } from './accounts.ts';
import { postRows } from './common.ts';
import { createTaskRows } from './create-task.ts';
import { eventRows } from './events.ts';
import { extractRows } from './extract.ts';
import { contactRows, deepSearchRows, enrichRows } from './lookups.ts';
import { searchRows } from './searches.ts';
import { settlementRows } from './settlement.ts';
import { fetchRows, runningRows, statusRows } from './tasks.ts';

/** All rows, in the order in which they run. The balance comes first, while nothing of this run is in progress. */
export const rows: readonly Row[] = [
  balanceRows,
  settlementRows,
  runningRows,
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
