import { type TestContext, test } from 'node:test';
import { kubectl } from './cluster.ts';

/** Declares a test that builds on those before it. */
export type Step = (name: string, work: (t: TestContext) => Promise<void>) => void;

/** Makes steps of one story: when one fails, all that can explain it is printed and the rest is skipped. */
export function createSteps(...namespaces: string[]): Step {
  let failed = false;
  return (name, work) =>
    test(name, { timeout: 900_000 }, async (t) => {
      if (failed) return t.skip('an earlier step failed');
      try {
        await work(t);
      } catch (error) {
        failed = true;
        process.stderr.write(`${await describeNamespaces(...namespaces)}\n`);
        throw error;
      }
    });
}

/** Returns details that explain a failure: objects, events, and logs of namespaces. */
async function describeNamespaces(...namespaces: string[]): Promise<string> {
  const parts: string[] = [];
  for (const namespace of namespaces) {
    const inNamespace = ['--namespace', namespace];
    parts.push(
      await see('get', 'pods,deployments,gatewaysyncs,syncreports,rolebindings', ...inNamespace, '--output=wide'),
    );
    parts.push(await see('get', 'gatewaysyncs,syncreports', ...inNamespace, '--output=yaml'));
    parts.push(await see('get', 'events', ...inNamespace, '--sort-by=.metadata.creationTimestamp'));
    for (const pod of (await see('get', 'pods', ...inNamespace, '--output=name')).split('\n').slice(1)) {
      if (!pod) continue;
      const logs = ['logs', pod, ...inNamespace, '--all-containers', '--prefix', '--tail=60'];
      // The previous log of a restarted container shows the cause.
      parts.push(await see(...logs, '--previous'), await see(...logs));
    }
  }
  return parts.join('\n');
}

async function see(...args: string[]): Promise<string> {
  const output = await kubectl(...args).catch((error: Error) => error.message);
  return `$ kubectl ${args.join(' ')}\n${output}`;
}
