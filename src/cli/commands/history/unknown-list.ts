import { LeadpipeError } from '../../../errors.ts';

export function toUnknownList(list: string): LeadpipeError {
  return new LeadpipeError('not_found', `there is no list ${list} on this machine`, {
    type: 'list_not_found',
    hint: 'To see which lists there are: leadpipe history lists',
  });
}
