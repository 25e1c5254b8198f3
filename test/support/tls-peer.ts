import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Certificate, makeCertificate } from './certificate';
import { type Tool } from './installed-tool';

/**
 * A TLS server of Python's, which sends what Node's cannot: session tickets and updates of its key,
 * as many as a test wants and when it wants them.
 */

export type Flood =
  | 'nothing'
  /** session tickets */
  | 'tickets'
  /** updates of the key */
  | 'key updates'
  /** updates of the key which ask for one of the other side */
  | 'asking key updates';

const FLOODS: readonly Flood[] = ['nothing', 'tickets', 'key updates', 'asking key updates'];

export interface TlsPeerOptions {
  /** tickets at the end of each handshake; default 2 */
  tickets?: number;
  flood?: Flood;
  /** when the flood begins; default `after the response` */
  when?: 'before the response' | 'after the response';
}

/**
 * Python itself has no call for these: they are called in the OpenSSL that its module is linked
 * with.
 */
export const PYTHON_OPENSSL: Tool = {
  command: 'python3',
  name: 'Python 3.9 or newer, whose module ssl uses a shared OpenSSL of TLS 1.3,',
  versionArguments: [
    '-c',
    'import _ssl, ctypes; ctypes.CDLL(_ssl.__file__).SSL_new_session_ticket',
  ],
};

const SERVER = `
import _ssl, ctypes, os, socket, ssl, sys, tempfile, threading
tickets, flood, early = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == 'before the response'
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
with tempfile.NamedTemporaryFile('w', suffix='.pem') as pem:
    pem.write(os.environ['PEM'])
    pem.flush()
    context.load_cert_chain(pem.name)
context.num_tickets = tickets

def send(connection):
    library = ctypes.CDLL(_ssl.__file__)
    for name in ['SSL_new_session_ticket', 'SSL_do_handshake']:
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.SSL_key_update.argtypes = [ctypes.c_void_p, ctypes.c_int]
    # Behind the head of the object and its socket stands the pointer to the connection of OpenSSL.
    at = id(connection._sslobj) + object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)
    handle = ctypes.c_void_p.from_address(at)
    while flood:
        if flood == 1: begun = library.SSL_new_session_ticket(handle)
        else: begun = library.SSL_key_update(handle, flood - 2)
        if begun != 1 or library.SSL_do_handshake(handle) != 1: return

def end_with_parent():
    sys.stdin.read()
    os._exit(0)

def serve(raw):
    try:
        connection = context.wrap_socket(raw, server_side=True)
        while True:
            text = b''
            while not text.endswith(b'{}'):
                part = connection.recv(65536)
                if not part: raise OSError('closed')
                text += part
            if early: send(connection)
            connection.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok')
            if not early: send(connection)
    except OSError:
        pass
    raw.close()

threading.Thread(target=end_with_parent, daemon=True).start()
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
`;

export interface TlsPeer {
  pid: number;
  origin: string;
  certificate: Certificate;
  close(): void;
}

export async function startTlsPeer({
  tickets = 2,
  flood = 'nothing',
  when = 'after the response',
}: TlsPeerOptions): Promise<TlsPeer> {
  const certificate = makeCertificate({ hosts: ['localhost'] });
  const server: ChildProcess = spawn(
    'python3',
    ['-c', SERVER, String(tickets), String(FLOODS.indexOf(flood)), when],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, PEM: certificate.key + certificate.cert },
    },
  );
  const [port] = (await once(server.stdout!, 'data')) as [Buffer];
  return {
    pid: server.pid!,
    origin: `https://localhost:${port.toString().trim()}`,
    certificate,
    close: () => void server.kill(),
  };
}
