import { kubectl } from './cluster.ts';

/** Made by Kubernetes itself in every namespace, or on its own account. */
const standard = /^(configmap\/kube-root-ca\.crt|serviceaccount\/default|event(\.events\.k8s\.io)?\/.*)$/;
/** Stays on purpose: the CRDs, and the Lease, which the controller makes and goes with the namespace. */
const kept =
  /^(customresourcedefinition\.apiextensions\.k8s\.io\/(gatewaysyncs|syncreports)\.sync\.io|lease\.coordination\.k8s\.io\/.+-controller)$/;

/** Lists the remaining objects of a release: those with its label anywhere, and those in its namespace. */
export async function leftBehind({ release, namespace }: { release: string; namespace: string }): Promise<string[]> {
  const label = `--selector=app.kubernetes.io/instance=${release}`;
  const left = [
    ...(await list(true, '--all-namespaces', label)),
    ...(await list(false, label)),
    ...(await list(true, '--namespace', namespace)),
  ];
  return [...new Set(left)].filter((name) => !standard.test(name) && !kept.test(name));
}

async function list(namespaced: boolean, ...args: string[]): Promise<string[]> {
  const kinds = await kubectl('api-resources', '--verbs=list,delete', `--namespaced=${namespaced}`, '--output=name');
  const names = await kubectl(
    'get',
    kinds.trim().split('\n').join(','),
    '--output=name',
    '--ignore-not-found',
    ...args,
  );
  return names.split('\n').filter(Boolean);
}
