import { createHash } from 'node:crypto';

/** Name of a binary that the test bed can provide. */
export type BinaryName =
  | 'etcd'
  | 'helm'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kubeconform'
  | 'kubectl'
  | 'prometheus'
  | 'promtool';

/** How Go builds one binary: its main package, the release, and the variables that the release process stamps. */
export interface Source {
  /** Folder of the Go module that holds the requirement; binaries of one project share theirs. */
  module: string;
  package: string;
  version: string;
  stamps: Record<string, string>;
  tags?: string[];
}

/** Release of Kubernetes that the tests run against, without the `v`. */
export const kubernetesVersion = '1.36.3';

/** Release of the modules that Kubernetes keeps in its staging folder and publishes apart, without the `v`. */
export const kubernetesStagingVersion = '0.36.3';

const etcdVersion = '3.6.5';
const helmVersion = '4.3.1';
const kubeconformVersion = '0.8.0';
/** Prometheus 3.15 is 0.315 as a Go module. */
const prometheusModuleVersion = '0.315.0';

const [kubernetesMajor = '', kubernetesMinor = ''] = kubernetesVersion.split('.');

/** Helm and kubectl refuse or misjudge an API server without these. */
const kubernetesStamps = {
  'k8s.io/component-base/version.gitVersion': `v${kubernetesVersion}`,
  'k8s.io/component-base/version.gitMajor': kubernetesMajor,
  'k8s.io/component-base/version.gitMinor': kubernetesMinor,
};

const kubernetesCommand = (name: string): Source => ({
  module: 'kubernetes',
  package: `k8s.io/kubernetes/cmd/${name}`,
  version: kubernetesVersion,
  stamps: kubernetesStamps,
});

const prometheusCommand = (name: string): Source => ({
  module: 'prometheus',
  package: `github.com/prometheus/prometheus/cmd/${name}`,
  version: prometheusModuleVersion,
  stamps: {},
  // Targets are given, not discovered: the clients of every cloud take most of the build.
  tags: ['remove_all_sd'],
});

/** Where each binary comes from. */
export const sources: Record<BinaryName, Source> = {
  etcd: { module: 'etcd', package: 'go.etcd.io/etcd/server/v3', version: etcdVersion, stamps: {} },
  helm: {
    module: 'helm',
    package: 'helm.sh/helm/v4/cmd/helm',
    version: helmVersion,
    stamps: { 'helm.sh/helm/v4/internal/version.version': `v${helmVersion}` },
  },
  'kube-apiserver': kubernetesCommand('kube-apiserver'),
  'kube-controller-manager': kubernetesCommand('kube-controller-manager'),
  kubeconform: {
    module: 'kubeconform',
    package: 'github.com/yannh/kubeconform/cmd/kubeconform',
    version: kubeconformVersion,
    stamps: { 'main.version': `v${kubeconformVersion}` },
  },
  kubectl: kubernetesCommand('kubectl'),
  prometheus: prometheusCommand('prometheus'),
  promtool: prometheusCommand('promtool'),
};

/** Names one set of binaries: it changes with any version and with the platform. */
export const versionsKey = [
  `kubernetes-${kubernetesVersion}`,
  `${process.platform}-${process.arch}`,
  createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 8),
].join('-');
