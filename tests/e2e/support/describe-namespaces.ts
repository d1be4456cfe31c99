import { kubectl } from './cluster.ts';

/** Returns details that explain a failure: objects, events, and logs of namespaces. */
export async function describeNamespaces(...namespaces: string[]): Promise<string> {
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
