import type { Page } from '../../client.ts';
import { LeadpipeError } from '../../errors.ts';
import { countOf, plural } from '../wording.ts';

/** The service sent a page that breaks the API contract. The page is not printed; it is requested again. */
export class PageError extends LeadpipeError {
  /** Whether it had no entities although it should have some. */
  readonly empty: boolean;

  constructor(message: string, empty: boolean, requestId: string | undefined) {
    super('interface', message, {
      type: empty ? 'page_empty' : 'page_impossible',
      charged: 'no',
      ...(requestId === undefined ? {} : { requestId }),
    });
    this.empty = empty;
  }
}

/** Returns the page if it is a valid answer to `pts` and `num`. Throws PageError. */
export function checkPage(page: Page, leadsSearchId: string, pts: number, num: number): Page {
  const { value, entities, requestId } = page;
  const refuse = (what: string): never => {
    throw new PageError(`the service sent a wrong page (from position ${pts}): ${what}`, false, requestId);
  };
  if (value.count !== entities.length) {
    refuse(`it announced ${countOf(value.count)}, but sent ${entities.length}`);
  }
  if (value.pts !== pts) refuse(`it is the page from position ${value.pts}`);
  if (value.num !== num)
    refuse(`it is a page of ${value.num}, but ${countOf(num)} ${plural(num, 'was', 'were')} requested`);
  if (value.count > num)
    refuse(`it has ${countOf(value.count)}, but ${num} ${plural(num, 'was', 'were')} requested`);
  if (value.leads_search_id !== undefined && value.leads_search_id !== leadsSearchId) {
    refuse(`it belongs to another task, ${value.leads_search_id.slice(0, 100)}`);
  }
  if (value.count === 0 && pts < value.ready_count) {
    throw new PageError(
      `the service sent a page without leads (from position ${pts}), although it says that ${countOf(value.ready_count)} ${plural(value.ready_count, 'is', 'are')} ready`,
      true,
      requestId,
    );
  }
  return page;
}
