import { isIP } from 'node:net';
import { limits, web2listLimit } from '../../contract/limits.ts';
import { type ExtractRequest, type ExtractResponse, extractionTypes } from '../../contract/types.ts';
import { answerBilled, type Outcome } from '../billed.ts';
import { extractFromPage, extractMembers } from '../extraction.ts';
import { integer, oneOf, onlyFields, text } from '../fields.ts';
import { invalid } from '../refusal.ts';
import type { Exchange, Service } from '../service.ts';

/** POST /v1/extract */
export function extract(service: Service, exchange: Exchange): Promise<void> {
  const { price_extract: price, extract_replay } = service.switches;
  return answerBilled(service, exchange, ({ fields }) => {
    const request = toExtract(fields);
    return {
      cost: { price, units: request.limit },
      work: () => run(service, request),
      keepAnswer: extract_replay === 'on',
    };
  });
}

type Extract = Required<ExtractRequest> & { readonly instruction: string | null };

function toExtract(fields: Readonly<Record<string, unknown>>): Extract {
  onlyFields(fields, ['type', 'target', 'instruction', 'limit']);
  const type = oneOf(fields, 'type', extractionTypes);
  const target = text(fields, 'target', limits.extractTarget);
  const absent = fields.instruction === undefined || fields.instruction === null;
  const instruction = absent ? null : text(fields, 'instruction', limits.extractInstruction);
  const limit = integer(fields, 'limit', limits.extractLimit);
  if (type !== 'web2list') return { type, target, instruction, limit };
  if (instruction === null || instruction.trim() === '')
    throw invalid('instruction is required for web2list');
  if (!isPublicUrl(target)) throw invalid('target must be a public HTTP or HTTPS URL for web2list');
  return { type, target, instruction, limit: web2listLimit };
}

function isPublicUrl(target: string): boolean {
  if (!URL.canParse(target)) return false;
  const { protocol, hostname, username, password } = new URL(target);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  if (username !== '' || password !== '') return false;
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) === 4)
    return !/^(0|10|127|169\.254|172\.(1[6-9]|2\d|3[01])|192\.168|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])|22[4-9]|2[3-5]\d)\./.test(
      host,
    );
  if (isIP(host) === 6) return /^[23]/.test(host);
  return host.includes('.') && !/\.(local|localhost|internal|lan|home|arpa)$/.test(host);
}

async function run({ catalogue }: Service, { type, target, instruction, limit }: Extract): Promise<Outcome> {
  const found =
    type === 'web2list'
      ? await extractFromPage(catalogue, target, instruction ?? '', limit)
      : catalogue.fictional
        ? extractMembers(catalogue, type, target, limit)
        : {
            failure: 'your own leads have no followers: only the fictional leads can be extracted',
          };
  const metadata: ExtractResponse['metadata'] = { type, target, instruction, limit };
  if ('failure' in found) {
    const body: ExtractResponse = { success: false, data: found.failure, metadata };
    return { text: JSON.stringify(body), units: 0 };
  }
  const text = `{"success":true,"data":[${found.join(',')}],"metadata":${JSON.stringify(metadata)}}`;
  return { text, units: found.length };
}
