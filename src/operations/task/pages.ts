import type { Page } from '../../client.ts';
import { LeadpipeError } from '../../errors.ts';
import { countOf } from '../delivery.ts';

/** A page that can't be: it is never printed, and asked for again. */
export class PageError extends LeadpipeError {
  /** Whether it was without entities where there should be some. */
  readonly empty: boolean;

  constructor(message: string, empty: boolean, requestId: string | undefined) {
    super('interface', message, {
      type: empty ? 'page_empty' : 'page_impossible',
      charged: 'no',
      retryable: false,
      ...(requestId === undefined ? {} : { requestId }),
    });
    this.empty = empty;
  }
}

/** Returns the page when it is one that the interface allows as the answer to `pts` and `num`. Throws PageError. */
// rule: page.task, page.echo, page.count, fetch.empty-page
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
    refuse(`it is a page of ${value.num}, but ${countOf(num)} ${num === 1 ? 'was' : 'were'} asked for`);
  if (value.count > num)
    refuse(`it has ${countOf(value.count)}, but ${num} ${num === 1 ? 'was' : 'were'} asked for`);
  if (value.leads_search_id !== undefined && value.leads_search_id !== leadsSearchId) {
    refuse(`it belongs to another task, ${value.leads_search_id.slice(0, 100)}`);
  }
  if (value.count === 0 && pts < value.ready_count) {
    throw new PageError(
      `the service sent a page without leads (from position ${pts}), although it says that ${countOf(value.ready_count)} ${value.ready_count === 1 ? 'is' : 'are'} ready`,
      true,
      requestId,
    );
  }
  return page;
}
