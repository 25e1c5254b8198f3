import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs';
import { AppError, messageOf } from '../../runtime/errors';
import { type Settings } from '../../runtime/settings';
import { briefClient, connectAdmin, kafkaAddress } from './connection';
import { createCluster } from './cluster';
import {
  type ScramMechanism,
  scramUsersRequest,
  scramUsersResponse,
} from '../protocol/scram-users';

/** Creates ACLs and SCRAM users, as an administrator of the cluster. */

type Operation =
  'Read' | 'Write' | 'Create' | 'Delete' | 'Describe' | 'DescribeConfigs' | 'AlterConfigs';

/** One grant of Kafka. A prefixed name covers every name that begins with it. */
export interface Grant {
  principal: string;
  resource: 'topic' | 'group';
  name: string;
  prefixed: boolean;
  operations: Operation[];
}

/**
 * Creates the ACLs by one request. Existing ones stay.
 * @throws AppError `cannot_start` with what to do
 */
export async function createAcls(settings: Settings, grants: readonly Grant[]): Promise<void> {
  const address = kafkaAddress(settings);
  const admin = briefClient(address, 'waypost-acls').admin();
  await connectAdmin(admin, address.brokers);
  try {
    await admin.createAcls({ acl: grants.flatMap(entriesOf) });
  } catch (error) {
    throw refused('the ACLs', error);
  } finally {
    await admin.disconnect();
  }
}

/** Returns the entries of a grant, one for each operation. */
function entriesOf({ operations, resource, prefixed, principal, name }: Grant) {
  return operations.map((operation) => ({
    principal,
    host: '*',
    resourceName: name,
    permissionType: AclPermissionTypes.ALLOW,
    resourceType: resource === 'topic' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP,
    resourcePatternType: prefixed ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
    operation: AclOperationTypes[kafkaName(operation)],
  }));
}

/** DescribeConfigs → DESCRIBE_CONFIGS */
function kafkaName(operation: Operation): keyof typeof AclOperationTypes {
  return operation.replace(/(?<=.)[A-Z]/, '_$&').toUpperCase() as keyof typeof AclOperationTypes;
}

interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findControllerBroker(): Promise<{ connectionPool: { send(request: object): Promise<unknown> } }>;
}

/**
 * Creates SCRAM users, or changes their passwords.
 * @param users passwords by user name
 * @throws AppError `cannot_start` with what to do
 */
export async function createScramUsers(
  settings: Settings,
  users: ReadonlyMap<string, string>,
): Promise<void> {
  const { KAFKA_SASL_MECHANISM: login } = settings;
  const mechanism: ScramMechanism = login === 'scram-sha-256' ? login : 'scram-sha-512';
  const client = briefClient(kafkaAddress(settings), 'waypost-acls');
  const cluster = createCluster(client) as Cluster;
  await cluster.connect();
  try {
    await cluster.refreshMetadata();
    const { connectionPool } = await cluster.findControllerBroker();
    await connectionPool.send({
      request: scramUsersRequest(mechanism, users),
      response: scramUsersResponse,
    });
  } catch (error) {
    throw refused('the users', error);
  } finally {
    await cluster.disconnect();
  }
}

function refused(what: string, error: unknown): AppError {
  const { type } = (error ?? {}) as { type?: string };
  const hint =
    type === 'SECURITY_DISABLED'
      ? 'the brokers have no authorizer, so that ACLs have no effect'
      : `${messageOf(error)}; log in as a user that may alter the cluster`;
  return new AppError('cannot_start', `Kafka does not create ${what}: ${hint}`, false, {
    cause: error,
  });
}
