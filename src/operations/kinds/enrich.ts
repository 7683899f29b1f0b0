import type { EnrichRequest } from '../../contract/types.ts';
import { answerInAnswer, type Kind } from './kind.ts';

export const enrich = {
  endpoint: 'enrich',
  keeps: 'answer',
  isResumable: false,
  prints: 'single',
  subject: null,
  about: 'entity_context',
  tariff: () => ({ setting: 'price.enrich', units: 1 }),
  reasonIn: answerInAnswer,
} as const satisfies Kind<EnrichRequest>;
