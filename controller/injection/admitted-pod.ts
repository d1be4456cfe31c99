import * as v from 'valibot';

const securityContextSchema = v.object({
  runAsUser: v.optional(v.number()),
  runAsGroup: v.optional(v.number()),
  seLinuxOptions: v.optional(v.looseObject({})),
});

const volumeMountSchema = v.object({
  name: v.string(),
  mountPath: v.string(),
  subPath: v.optional(v.string()),
  subPathExpr: v.optional(v.string()),
  readOnly: v.optional(v.boolean()),
});

const containerSchema = v.object({
  name: v.string(),
  restartPolicy: v.optional(v.string()),
  env: v.optional(v.array(v.object({ name: v.string(), value: v.optional(v.string()) }))),
  ports: v.optional(v.array(v.object({ containerPort: v.number() }))),
  volumeMounts: v.optional(v.array(volumeMountSchema)),
  securityContext: v.optional(securityContextSchema),
});

/** The parts of a pod that injection reads; https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/. */
export const admittedPodSchema = v.object({
  metadata: v.object({
    name: v.optional(v.string()),
    generateName: v.optional(v.string()),
    annotations: v.optional(v.record(v.string(), v.string())),
    labels: v.optional(v.record(v.string(), v.string())),
  }),
  spec: v.object({
    containers: v.array(containerSchema),
    initContainers: v.optional(v.array(containerSchema)),
    volumes: v.optional(v.array(v.looseObject({ name: v.string() }))),
    securityContext: v.optional(securityContextSchema),
    shareProcessNamespace: v.optional(v.boolean()),
    resources: v.optional(v.looseObject({})),
  }),
});

export type AdmittedPod = v.InferOutput<typeof admittedPodSchema>;
export type Container = v.InferOutput<typeof containerSchema>;
export type VolumeMount = v.InferOutput<typeof volumeMountSchema>;
