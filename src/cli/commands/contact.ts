import { Argument, Option } from 'commander';
import { contactTypes } from '../../contract/types.ts';
import { JsonView } from '../../json/text.ts';
import { isContactFound } from '../../output/record-parts.ts';
import { checkContactType, toContactSearchRequest } from '../../requests/lookups.ts';
import { defineCommand } from '../command.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { toNothingFound } from '../messages/closing-line.ts';
import { readTextArgument } from '../options/inputs.ts';
import { argumentOf, inputNames } from '../options/options.ts';
import { createRowsOptions, type RowsOptions, sourceOf, toRowsRemarks } from '../options/rows.ts';
import { buy, type PurchaseOptions } from '../records/orders.ts';

interface ContactOptions extends PurchaseOptions, RowsOptions {
  readonly exitStatus?: true;
}

export const createCommand = defineCommand({
  name: 'contact',
  description: 'Looks up an email address or a phone number. With --input, it looks up many.',
  arguments: [
    argumentOf('<contact-type>', contactTypes),
    new Argument('[objective]', 'who you look for, in your own words (- reads stdin, @file reads a file)'),
  ],
  options: [
    new Option('--exit-status', 'exit with code 7 when nothing was found'),
    ...createRowsOptions('email or phone'),
  ],
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe contact email "CTO of Nordlicht Pay" --local',
    'leadpipe search person "CTOs in London" --limit 3 --local -o ctos.csv\nleadpipe contact email --input ctos.csv --local -o emails.csv',
  ],
  output: [
    'one object as the service sent it; content is null when nothing was found:',
    '{"object":"contact_search_result",',
    ' "request":{"contact_type":"email","objective":"…"},',
    ' "result":{"content":"…","reference":"…"},"created_at":"…"}',
    'csv: contact_type,objective,content,reference,created_at',
  ],
  outcomes: [...paidOutcomes, 'partial'],
  remarks: toRowsRemarks('objective', { takesLeads: true }),
  async run(context, contactType: string, objective: string | undefined, options: ContactOptions) {
    // Check this first, so that standard input is not read in vain.
    const type = checkContactType(contactType);
    const source = sourceOf(options, objective, 'objective');
    if ('input' in source) {
      const { buyList } = await import('../records/rows.ts');
      const list = await buyList(context, { ...options, ...source }, { kind: 'contact', contact_type: type });
      if (!options.exitStatus || list?.found !== 0) return;
      throw toNothingFound({ operationId: list.operationId }, options, `no ${type} was found`);
    }
    const text = await readTextArgument(context, inputNames.objective, source.argument);
    const request = toContactSearchRequest({ contact_type: contactType, objective: text }, inputNames);
    const bought = await buy(context, options, 'contact', request, 'looking up');
    if (bought === undefined) return;
    const found = isContactFound(new JsonView(bought.text));
    bought.close(`${request.contact_type} ${found ? 'found' : 'not found'}`);
    if (options.exitStatus && !found) {
      throw toNothingFound(bought.ids, options, `no ${request.contact_type} was found`);
    }
  },
});
