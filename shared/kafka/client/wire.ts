import { type Socket } from 'node:net';
import { ByteReader, ByteWriter } from '../protocol/bytes';

/**
 * Sends Waypost's own requests over a connection that kafkajs has opened and logged in. A request
 * is one write, and its answer one callback: there is no queue, and no promise for each part of it.
 * kafkajs's own requests (versions, metadata, logins) share the connection. They have correlation
 * ids from 0 up, these have negative ones.
 *
 * It also corrects how kafkajs ends a connection (2.2.4). `disconnect` ends the socket that the
 * connection has at the end of a wait, which may be a new one, and a late end of the old socket
 * closes the new one. Each further `disconnect` adds a listener to a socket that is closed. Two
 * callers of `connect` open two sockets. Half an answer that a broken socket has left becomes the
 * beginning of the next answer.
 */

/** The used part of kafkajs's Connection. The same object connects again after it was closed. */
export interface Connection {
  clientId: string;
  sasl: unknown;
  socket: Socket | null;
  /** the parts of an answer that is not complete */
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  isConnected(): boolean;
  connect(): Promise<unknown>;
  isAuthenticated(): boolean;
  authenticate(): Promise<void>;
  disconnect(): Promise<unknown>;
  requestQueue: {
    fulfillRequest(answer: { correlationId: number; payload: Buffer }): void;
    rejectAll(error: Error): void;
  };
}

/** A request, by its key and version (https://kafka.apache.org/protocol). */
export interface Api {
  key: number;
  version: number;
  /** headers of request and answer have tagged fields */
  flexible?: boolean;
}

/** @param from the answer; empty after an error */
export type Done = (error: Error | undefined, from: ByteReader) => void;
/** Writes a request. If it throws, nothing is sent, and the caller gets the error. */
export type Write = (to: ByteWriter) => void;

interface Pending {
  done: Done;
  flexible: boolean;
  /** by `performance.now()` */
  until: number;
}

/** Unanswered requests are looked for this long after the deadline of the first. */
const LATE_MS = 500;
const SIZE_BYTES = 4;
const LAST_ID = -(2 ** 31);
const NOTHING = new ByteReader(Buffer.alloc(0));

const wires = new WeakMap<Connection, Wire>();
const writer = new ByteWriter();

export class Wire {
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #opening: Promise<void> | undefined;
  #connecting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #check: NodeJS.Timeout | undefined;
  /** when `#check` is due, by `performance.now()` */
  #checkAt = Infinity;
  /** no request is sent before, by `performance.now()` */
  #throttledUntil = 0;
  readonly #disconnect: () => Promise<unknown>;

  private constructor(private readonly connection: Connection) {
    const { requestQueue: queue } = connection;
    this.#disconnect = connection.disconnect.bind(connection);
    const connect = connection.connect.bind(connection);
    const connectOnce = async () => {
      await this.#closing;
      await connect();
    };
    connection.connect = () =>
      (this.#connecting ??= connectOnce().finally(() => (this.#connecting = undefined)));
    connection.disconnect = () => this.close(new Error('the connection was closed'));
    const fulfill = queue.fulfillRequest.bind(queue);
    queue.fulfillRequest = (answer) => {
      if (answer.correlationId >= 0) fulfill(answer);
      else this.#answered(answer.correlationId, answer.payload);
    };
    const rejectAll = queue.rejectAll.bind(queue);
    queue.rejectAll = (error) => {
      this.#fail(error);
      rejectAll(error);
    };
  }

  /** Returns the wire of a connection, which may be closed. */
  static of(connection: Connection): Wire {
    let wire = wires.get(connection);
    if (!wire) wires.set(connection, (wire = new Wire(connection)));
    return wire;
  }

  get isOpen(): boolean {
    return this.connection.isConnected() && this.#closing === undefined;
  }

  /** Another object each time that it was opened. */
  get socket(): object | null {
    return this.connection.socket;
  }

  /** Connects and logs in, if need be. @throws an error of kafkajs */
  open(): Promise<void> {
    return (this.#opening ??= this.#open().finally(() => (this.#opening = undefined)));
  }

  async #open(): Promise<void> {
    const { connection } = this;
    if (!this.isOpen) await connection.connect();
    if (connection.sasl && !connection.isAuthenticated()) await connection.authenticate();
  }

  /**
   * Sends a request.
   * @param done called once, later: with the answer, or with an error if the connection broke or no
   *   answer came in time
   */
  send(api: Api, write: Write, done: Done, timeoutMs: number): void {
    const { connection } = this;
    const waitMs = this.#throttledUntil - performance.now();
    if (waitMs > 0) {
      setTimeout(() => this.send(api, write, done, timeoutMs), waitMs);
    } else if (connection.sasl && connection.isConnected() && !connection.isAuthenticated()) {
      // The login ends soon. A broker ends the connection at a request in the middle of the next.
      const send = () => this.#send(api, write, done, timeoutMs);
      connection.authenticate().then(send, (error: unknown) => done(error as Error, NOTHING));
    } else {
      this.#send(api, write, done, timeoutMs);
    }
  }

  /** Sends a request. @returns its answer @throws if there is none */
  call(api: Api, write: Write, timeoutMs: number): Promise<ByteReader> {
    return new Promise((resolve, reject) => {
      const done: Done = (error, from) => {
        if (error) reject(error);
        else resolve(from);
      };
      this.send(api, write, done, timeoutMs);
    });
  }

  /** Sends no request for this time, because the broker has said so in an answer (KIP-219). */
  throttle(ms: number): void {
    if (ms > 0) this.#throttledUntil = performance.now() + ms;
  }

  /** Closes the connection, and ends its requests. */
  close(error: Error): Promise<void> {
    return (this.#closing ??= this.#close(error).finally(() => (this.#closing = undefined)));
  }

  async #close(error: Error): Promise<void> {
    const { connection } = this;
    const { socket } = connection;
    connection.requestQueue.rejectAll(error);
    await this.#disconnect();
    socket?.destroy();
    if (connection.socket === socket) connection.socket = null;
    connection.chunks = [];
    connection.bytesBuffered = 0;
    connection.bytesNeeded = SIZE_BYTES;
  }

  #send(
    { key, version, flexible = false }: Api,
    write: Write,
    done: Done,
    timeoutMs: number,
  ): void {
    const { connection } = this;
    if (!this.isOpen || !connection.socket) {
      setImmediate(done, new Error('the connection is closed'), NOTHING);
      return;
    }
    const id = this.#lastId === LAST_ID ? -1 : this.#lastId - 1;
    this.#lastId = id;
    writer.length = 0;
    writer.int32(0);
    writer.int16(key);
    writer.int16(version);
    writer.int32(id);
    writer.string(connection.clientId);
    if (flexible) writer.noTags();
    try {
      write(writer);
    } catch (error) {
      setImmediate(done, error as Error, NOTHING);
      return;
    }
    writer.int32At(writer.length - SIZE_BYTES, 0);
    const until = performance.now() + timeoutMs;
    this.#pending.set(id, { done, flexible, until });
    if (until < this.#checkAt - LATE_MS) this.#checkAfter(until);
    connection.socket.write(writer.take());
  }

  #checkAfter(until: number): void {
    clearTimeout(this.#check);
    this.#checkAt = until + LATE_MS;
    const waitMs = this.#checkAt - performance.now();
    this.#check = setTimeout(() => this.#closeIfOverdue(), waitMs).unref();
  }

  /** A connection with an overdue answer is not used again. */
  #closeIfOverdue(): void {
    this.#checkAt = Infinity;
    let first = Infinity;
    for (const { until } of this.#pending.values()) first = Math.min(first, until);
    if (performance.now() > first) void this.close(new Error('the broker gave no answer in time'));
    else if (first < Infinity) this.#checkAfter(first);
  }

  #answered(id: number, payload: Buffer): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    const from = new ByteReader(payload);
    try {
      if (pending.flexible) from.skipTags();
    } catch (error) {
      pending.done(new Error('the head of an answer cannot be read', { cause: error }), NOTHING);
      return;
    }
    pending.done(undefined, from);
  }

  #fail(error: Error): void {
    if (this.#pending.size === 0) return;
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const { done } of all) done(error, NOTHING);
  }
}
