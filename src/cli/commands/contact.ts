import { Argument, Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { contactTypes } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import { JsonView } from '../../json/text.ts';
import { isContactFound } from '../../output/columns.ts';
import { checkContactType, toContactSearchRequest } from '../../requests/contact.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { readTextArgument } from '../options/inputs.ts';
import {
  addConnectionOptions,
  addPaidOptions,
  addRecordOptions,
  argumentOf,
  inputNames,
} from '../options/options.ts';
import { buy, type PurchaseOptions } from '../records/orders.ts';

interface ContactOptions extends PurchaseOptions {
  readonly exitStatus?: true;
}

const help: CommandHelp = {
  examples: [
    'leadpipe contact email "CTO of Nordlicht Pay" --local',
    'leadpipe contact phone "founder of Nordlicht Pay" --local -f csv',
  ],
  output: [
    'one object as the service sent it; content is null where nothing was found:',
    '{"object":"contact_search_result",',
    ' "request":{"contact_type":"email","objective":"…"},',
    ' "result":{"content":"…","reference":"…"},"created_at":"…"}',
    'csv: contact_type,objective,content,reference,created_at',
  ],
  outcomes: paidOutcomes,
};

export function createContactCommand(context: Context): Command {
  const command = new Command('contact')
    .description('Looks up one email address or one phone number.')
    .addArgument(argumentOf('<contact-type>', contactTypes))
    .addArgument(new Argument('<objective>', 'whose it is, in your own words; - for stdin, @file for a file'))
    .addOption(new Option('--exit-status', 'exit 7 when nothing was found'));
  return addHelp(addConnectionOptions(addPaidOptions(addRecordOptions(command))), help).action(
    (contactType: string, objective: string, options: ContactOptions) =>
      runContact(context, contactType, objective, options),
  );
}

async function runContact(
  context: Context,
  contactType: string,
  objective: string,
  options: ContactOptions,
): Promise<void> {
  // Before standard input is read for an objective that could not be used.
  checkContactType(contactType);
  const text = await readTextArgument(context, inputNames.objective, objective);
  const request = toContactSearchRequest(contactType, text, inputNames);
  const bought = await buy(context, options, 'contact', request, 'looking up');
  if (bought === undefined) return;
  const found = isContactFound(new JsonView(bought.text));
  bought.close(`${request.contact_type} ${found ? 'found' : 'not found'}`);
  if (options.exitStatus && !found) {
    throw new LeadpipeError('no_result', `no ${request.contact_type} was found`, bought.ids);
  }
}
