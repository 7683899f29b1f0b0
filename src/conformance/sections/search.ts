import { refused } from '../expectations.ts';
import type { Row } from '../row.ts';
import { companies, post } from '../samples.ts';
import { exclusionRows } from './exclusions.ts';
import { searchFieldRows, webTypeRows } from './search-fields.ts';

export const searchRows: readonly Row[] = [
  ...searchFieldRows('search'),
  ...webTypeRows('search', 'refused', 'only tasks accept {type}', {}),
  refused(
    'search/enable-web-search',
    'only tasks accept enable_web_search',
    post('search', { body: companies({ enable_web_search: true }) }),
  ),
  ...exclusionRows('search'),
];
