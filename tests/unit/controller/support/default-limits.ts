import * as v from 'valibot';
import { configSchema } from '../../../../controller/config.ts';

const config = v.parse(configSchema, { WEBHOOK_PORT: '0' });

/** Default limits for queries of git servers. */
export const DEFAULT_LIMITS = {
  total: config.GIT_CONCURRENCY,
  perNamespace: config.GIT_CONCURRENCY_PER_NAMESPACE,
  perHost: config.GIT_CONCURRENCY_PER_HOST,
  perSecond: config.GIT_RATE_PER_HOST,
};
