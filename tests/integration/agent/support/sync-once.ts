import process from 'node:process';
import { pino } from 'pino';
import * as v from 'valibot';
import { agentConfigSchema } from '../../../../agent/config.ts';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { sync } from '../../../../agent/sync/sync.ts';
import { TreeKeeper } from '../../../../agent/sync/tree-keeper.ts';
import { wireSync } from '../../../../agent/wire-sync.ts';
import { resolveProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { localHttp } from '../../../support/local-http.ts';

/** The sync, given as JSON in the first argument. */
interface Order {
  repo: string;
  commit: string;
  /** The source mapped to `config`. */
  source: string;
  publish: 'files' | 'atomic';
  data: string;
  clone: string;
}

/** One sync of an agent that then exits: prints `go` at the start, and exits with status 0 after the delivery and the removal of earlier trees. */
async function syncOnce({ repo, commit, source, publish, data, clone }: Order): Promise<void> {
  const environment = {
    POD_NAME: 'p',
    POD_UID: 'u',
    POD_NAMESPACE: 'n',
    CR_NAME: 'c',
    DATA_PATH: data,
    REPO_PATH: clone,
  };
  const config = v.parse(agentConfigSchema, environment);
  const log = pino({ level: 'silent' });
  const git = new Git(process.env);
  const given = {
    git,
    http: localHttp(),
    keyDirectory: '/dev/shm',
    uid: 0,
    log,
    onFetch: () => {},
    onTakenOver: () => {},
  };
  const dependencies = await wireSync(config, given);
  const mappings = [{ source, destination: 'config', required: true, template: false, publish }];
  const profile = resolveProfile({ profiles: { default: { mappings } } }, 'default');
  if (!profile) throw new Error('there is a profile named default');
  const reload = reloadSettings({ gateway: undefined });
  const from = { repo, ignoresHostKey: false, commit, ref: 'main' };
  const intent = { generation: 1, ...from, profile, verify: 'none' as const, submodules: false, reload };
  process.stdout.write('go\n');
  const { signal } = new AbortController();
  // Transient errors are retried, as in the agent's loop.
  await sync(intent, dependencies, signal).catch(() => sync(intent, dependencies, signal));
  const keeper = new TreeKeeper(dependencies, 0);
  await keeper.onSyncEnd();
  await keeper.run(signal);
}

await syncOnce(JSON.parse(process.argv[2] ?? '') as Order);
process.exit(0);
