import { refusal, refused } from '../expectations.ts';
import type { Row } from '../row.ts';
import { getTask, unknownTask } from '../samples.ts';
import { ofFinishedTask } from '../tested-service.ts';

/** Which tasks `status` and `fetch` read, and which not. */
export function taskIdRows(endpoint: 'status' | 'fetch'): Row[] {
  const notFound = refusal(404);
  return [
    refused(`${endpoint}/id-missing`, 'leads_search_id is required', getTask(endpoint, {})),
    {
      id: `${endpoint}/unknown-task`,
      rule: 'a task that does not exist gives 404',
      request: getTask(endpoint, { leads_search_id: unknownTask }),
      expect: notFound,
    },
    {
      id: `${endpoint}/task-of-another-key`,
      rule: 'only the API key that created a task can read it',
      costs: true,
      needs: ['other'],
      request: ofFinishedTask(endpoint, {}, { apiKey: 'other' }),
      expect: notFound,
    },
  ];
}
