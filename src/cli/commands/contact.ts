import { Argument } from 'commander';
import { headersOf } from '../../columns/columns.ts';
import { contactTypes } from '../../contract/types.ts';
import { contentOf } from '../../operations/kinds/kinds.ts';
import { lookups } from '../../operations/kinds/layouts.ts';
import { checkContactType } from '../../requests/lookups.ts';
import { defineCommand } from '../command.ts';
import { toNothingFoundError } from '../messages/closing-line.ts';
import { argumentOf } from '../options/option-builders.ts';
import { createRowsOptions, identityByDefault, sourceOf, toRowsRemark } from '../options/rows-options.ts';
import { exitStatusOption } from '../options/shared-options.ts';
import { type LookupOptions, lookUp, lookupDefaults } from './lookup.ts';

interface ContactOptions extends LookupOptions {
  readonly exitStatus?: true;
}

export const createCommand = defineCommand({
  name: 'contact',
  description: 'Looks up an email address or a phone number. With --input, it looks up many.',
  arguments: [
    argumentOf('<contact-type>', contactTypes),
    new Argument('[objective]', 'who you look for, in your own words (- reads stdin, @file reads a file)'),
  ],
  options: [...createRowsOptions('email or phone'), exitStatusOption],
  ...lookupDefaults,
  examples: [
    'leadpipe contact email "CTO of Nordlicht Pay" --local',
    'leadpipe search person "CTOs in London" --limit 3 --local -o ctos.csv\nleadpipe contact email --input ctos.csv --local -o emails.csv',
  ],
  output: [
    'one object as the service sent it; content is null when nothing was found:',
    '{"object":"contact_search_result",',
    ' "request":{"contact_type":"email","objective":"…"},',
    ' "result":{"content":"…","reference":"…"},"created_at":"…"}',
  ],
  columns: () => headersOf(lookups.contact.layout()),
  moreColumns: 'with --input those of the input, then <into>, <into>_reference, <into>_error',
  cost: {
    text: 'the price that you set, for each lookup',
    settings: ['price.contact.email', 'price.contact.phone'],
  },
  remarks: [toRowsRemark('objective', identityByDefault)],
  async run(context, contactType: string, objective: string | undefined, options: ContactOptions) {
    // Check this first, so that standard input is not read without need.
    const contact_type = checkContactType(contactType);
    const source = sourceOf(options, objective, 'objective');
    const request = { kind: 'contact', contact_type } as const;
    const bought = await lookUp(context, options, source, request, 'looking up', (answer) =>
      contentOf(answer) === undefined ? `${contact_type} not found` : `${contact_type} found`,
    );
    if (options.exitStatus && bought?.found === 0)
      throw toNothingFoundError(bought.ids, options, `no ${contact_type} was found`);
  },
});
