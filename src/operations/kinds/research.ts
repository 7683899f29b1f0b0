import type { DeepSearchRequest } from '../../contract/types.ts';
import { answerInAnswer, type Kind } from './kind.ts';

export const research = {
  endpoint: 'deepSearch',
  keeps: 'answer',
  isResumable: false,
  prints: 'single',
  subject: null,
  about: 'query',
  tariff: () => ({ setting: 'price.research', units: 1 }),
  reasonIn: answerInAnswer,
} as const satisfies Kind<DeepSearchRequest>;
