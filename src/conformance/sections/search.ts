import { refused } from '../expectations.ts';
import type { Row } from '../row.ts';
import { companies, post } from '../samples.ts';
import { exclusionRows } from './exclusions.ts';
import { searchFieldRows, webTypeRows } from './search-fields.ts';

export const searchRows: readonly Row[] = [
  ...searchFieldRows('search'),
  ...webTypeRows('search', 'refused', '{type} is accepted by the task form alone', {}),
  refused(
    'search/enable-web-search',
    'enable_web_search belongs to the task form: unknown fields are rejected',
    post('search', { body: companies({ enable_web_search: true }) }),
  ),
  ...exclusionRows('search'),
];
