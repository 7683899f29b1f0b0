import { LeadpipeError } from '../../../errors.ts';

export const nothingBought = 'No purchases recorded on this machine yet.';

/** Pure: the error of a list that this machine doesn't know. */
export function toUnknownList(list: string): LeadpipeError {
  return new LeadpipeError('not_found', `there is no list ${list} on this machine`, {
    type: 'list_not_found',
    hint: 'To see which lists there are: leadpipe history lists',
    retryable: false,
  });
}
