/**
 * Link-management service: splash pages, custom domains and notification
 * handlers, kept in memory and separated by account.
 *
 * Usage: node server.mjs PORT
 */
import { randomBytes } from 'node:crypto';
import express from 'express';
import multer from 'multer';

const HOST = '127.0.0.1';
const PAGE_SIZES = new Set([10, 25, 50, 100, 250, 500, 1000]);
const DEFAULT_PAGE_SIZE = 25;
const MEGABYTE = 1024 * 1024;

const accounts = new Map([
  ['demo-key-harbour', { id: 1, name: 'Harbour' }],
  ['demo-key-alpine', { id: 2, name: 'Alpine' }],
]);

class HttpError extends Error {
  constructor(status, code, message, fields) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

const notFound = () => new HttpError(404, 'not_found', 'No such resource.');
const invalidForm = (fields) => new HttpError(422, 'validation_failed', 'The form has invalid fields.', fields);
const badRequest = (message) => new HttpError(400, 'bad_request', message);

let lastId = 1000;

/** One table of records; every access names the account that asks. */
class Store {
  #rows = new Map();

  insert(accountId, values, createdAt = new Date()) {
    lastId += 1;
    const row = { ...values, id: lastId, accountId, createdAt, updatedAt: null };
    this.#rows.set(row.id, row);
    return row;
  }

  find(accountId, id) {
    const row = this.#rows.get(id);
    return row?.accountId === accountId ? row : undefined;
  }

  /** Newest first. */
  list(accountId) {
    return [...this.#rows.values()]
      .filter((row) => row.accountId === accountId)
      .sort((a, b) => b.id - a.id);
  }

  update(row, changes) {
    Object.assign(row, changes, { updatedAt: new Date() });
  }

  remove(row) {
    this.#rows.delete(row.id);
  }
}

/** Parsers get the raw text and return the value, or throw with a reason. */
const text = (raw) => raw;

const textFields = (...names) => Object.fromEntries(names.map((name) => [name, { parse: text }]));

const filledText = (raw) => {
  if (raw.trim() === '') throw new Error('must not be empty');
  return raw;
};

const oneOf = (...allowed) => (raw) => {
  if (!allowed.includes(raw)) throw new Error(`must be one of: ${allowed.join(', ')}`);
  return raw;
};

const integer = (raw) => {
  const value = Number(raw);
  if (!/^\d+$/.test(raw) || !Number.isSafeInteger(value)) {
    throw new Error('must be a non-negative integer');
  }
  return value;
};

const boolean = (raw) => {
  if (/^(1|true|on)$/i.test(raw)) return true;
  if (/^(0|false|off)$/i.test(raw)) return false;
  throw new Error('must be 1 or 0');
};

/** Reads the fields of a schema that the form holds, leaving out all others. */
function readForm(schema, body, { creating }) {
  const values = {};
  const errors = {};
  for (const [field, { parse, required = false, updateOnly = false }] of Object.entries(schema)) {
    const raw = body[field];
    if (creating && updateOnly) continue;
    if (raw === undefined) {
      if (creating && required) errors[field] = 'is required';
    } else if (typeof raw !== 'string') {
      errors[field] = 'must be given once, as text';
    } else {
      try {
        values[field] = parse(raw);
      } catch (err) {
        errors[field] = err.message;
      }
    }
  }
  if (Object.keys(errors).length > 0) throw invalidForm(errors);
  return values;
}

/** The uploaded files by field; an empty text part stands for "no file chosen". */
function readFiles(names, req) {
  const files = {};
  for (const name of names) {
    const upload = req.files?.[name]?.[0];
    if (upload) {
      files[name] = { name: upload.originalname, type: upload.mimetype, content: upload.buffer };
    } else if (req.body[name]) {
      throw invalidForm({ [name]: 'must be a file' });
    }
  }
  return files;
}

const upload = multer({
  storage: multer.memoryStorage(),
  defParamCharset: 'utf8',
  limits: { fieldSize: 16 * MEGABYTE, fileSize: 64 * MEGABYTE },
});

/** Multipart parsing for a resource; leaves an object in req.body in any case. */
function form(fileFields) {
  const parse = upload.fields(fileFields.map((name) => ({ name, maxCount: 1 })));
  return (req, res, next) => {
    if (!req.get('transfer-encoding') && Number(req.get('content-length') ?? 0) === 0) {
      req.body = {};
      return next();
    }
    if (!req.is('multipart/form-data')) {
      throw new HttpError(415, 'unsupported_media_type', 'Send the form as multipart/form-data.');
    }
    return parse(req, res, (err) => {
      // multer passes over a Content-Type that it cannot read
      if (!err) return next(req.body ? undefined : badRequest('Malformed Content-Type.'));
      const tooLarge = err.code === 'LIMIT_FILE_SIZE' || err.code === 'LIMIT_FIELD_VALUE';
      if (tooLarge) return next(new HttpError(413, 'too_large', err.message));
      return next(badRequest(`${err.message}${err.field ? `: ${err.field}` : ''}`));
    });
  };
}

const timestamp = (date) => date && date.toISOString().slice(0, 19).replace('T', ' ');
const timestamps = ({ createdAt, updatedAt }) => ({
  last_datetime: timestamp(updatedAt),
  datetime: timestamp(createdAt),
});

const splashPages = {
  path: '/splash-pages',
  collection: 'projects',
  store: new Store(),
  files: ['logo', 'favicon', 'opengraph'],
  schema: {
    name: { parse: filledText, required: true },
    ...textFields(
      'title', 'description', 'secondary_button_name', 'secondary_button_url',
      'custom_css', 'custom_js', 'ads_header', 'ads_footer',
    ),
    link_unlock_seconds: { parse: integer },
    auto_redirect: { parse: boolean },
  },
  defaults: () => ({ color: `#${randomBytes(3).toString('hex')}` }),
  present: (row) => {
    const { id, name, color } = row;
    return { id, name, color, ...timestamps(row) };
  },
};

const domains = {
  path: '/domains',
  collection: 'domains',
  store: new Store(),
  files: [],
  schema: {
    host: { parse: filledText, required: true },
    ...textFields('custom_index_url', 'custom_not_found_url'),
  },
  defaults: () => ({ scheme: 'https://', custom_index_url: '', custom_not_found_url: '', is_enabled: false }),
  present: (row) => {
    const { id, scheme, host, custom_index_url, is_enabled } = row;
    return { id, scheme, host, custom_index_url, is_enabled, ...timestamps(row) };
  },
};

/** For each handler type: form field -> key in `settings`. */
const settingKeys = {
  email: { email: 'email' },
  webhook: { webhook: 'url' },
  slack: { slack: 'url' },
  discord: { discord: 'url' },
  telegram: { telegram: 'token', telegram_chat_id: 'chat_id' },
  microsoft_teams: { microsoft_teams: 'url' },
};

const notificationHandlers = {
  path: '/notification-handlers',
  collection: 'notification-handlers',
  store: new Store(),
  files: [],
  schema: {
    name: { parse: filledText, required: true },
    type: { parse: oneOf(...Object.keys(settingKeys)), required: true },
    ...textFields(...Object.values(settingKeys).flatMap(Object.keys)),
    is_enabled: { parse: boolean, updateOnly: true },
  },
  defaults: () => ({ is_enabled: true }),
  /** Keeps the destination of the type in force; a new type starts afresh. */
  toColumns: (values, row) => {
    const { type: newType = row.type, name, is_enabled, ...destinations } = values;
    const kept = newType === row?.type ? row.settings : {};
    const settings = {};
    for (const [field, key] of Object.entries(settingKeys[newType])) {
      settings[key] = destinations[field] ?? kept[key] ?? '';
    }
    const columns = { type: newType, settings };
    if (name !== undefined) columns.name = name;
    if (is_enabled !== undefined) columns.is_enabled = is_enabled;
    return columns;
  },
  present: (row) => {
    const { id, type, name, settings, is_enabled } = row;
    return { id, type, name, settings, is_enabled, ...timestamps(row) };
  },
};

function authenticate(req, res, next) {
  const [, key] = /^Bearer +(\S+)$/i.exec(req.get('authorization') ?? '') ?? [];
  const account = accounts.get(key);
  if (!account) {
    res.set('WWW-Authenticate', 'Bearer');
    throw new HttpError(401, 'unauthorized', 'A valid API key is required.');
  }
  req.account = account;
  res.set('Cache-Control', 'no-store');
  next();
}

function positiveInteger(query, name, fallback) {
  const raw = query[name];
  if (raw === undefined || raw === '') return fallback;
  const value = Number(raw);
  if (!/^[1-9]\d*$/.test(raw) || !Number.isSafeInteger(value)) {
    throw badRequest(`${name} must be a positive integer.`);
  }
  return value;
}

function paginate(req, rows, { collection, present }) {
  const page = positiveInteger(req.query, 'page', 1);
  const perPage = positiveInteger(req.query, 'results_per_page', DEFAULT_PAGE_SIZE);
  if (!PAGE_SIZES.has(perPage)) {
    throw badRequest(`results_per_page must be one of: ${[...PAGE_SIZES].join(', ')}.`);
  }
  const totalPages = Math.max(1, Math.ceil(rows.length / perPage));
  const start = (page - 1) * perPage;
  const origin = `${req.protocol}://${req.get('host') ?? HOST}`;
  const link = (n) => `${origin}/api/${collection}?page=${n}`;
  const linkIfAny = (n) => (n >= 1 && n <= totalPages ? link(n) : null);
  const neighbours = { next: linkIfAny(page + 1), prev: linkIfAny(page - 1) };
  return {
    data: rows.slice(start, start + perPage).map(present),
    meta: { page, results_per_page: perPage, total: rows.length, total_pages: totalPages },
    links: { first: link(1), last: link(totalPages), self: link(page), ...neighbours },
  };
}

function resourceRouter(resource) {
  const { path, collection, store, files, schema, defaults, present } = resource;
  const toColumns = resource.toColumns ?? ((values) => values);
  const parseForm = form(files);
  const router = express.Router({ caseSensitive: true });

  const findRow = (req) => {
    const { id } = req.params;
    const row = /^[1-9]\d{0,14}$/.test(id) && store.find(req.account.id, Number(id));
    if (!row) throw notFound();
    return row;
  };

  const list = (req, res) => {
    res.json(paginate(req, store.list(req.account.id), resource));
  };
  router.get(path, list);
  if (path !== `/${collection}`) router.get(`/${collection}`, list); // where the page links lead

  router.post(`/${collection}`, parseForm, (req, res) => {
    const values = readForm(schema, req.body, { creating: true });
    const uploads = readFiles(files, req);
    const row = store.insert(req.account.id, { ...defaults(), ...toColumns(values), ...uploads });
    res.status(201).location(`/api${path}/${row.id}`).json({ data: { id: row.id } });
  });

  router.get(`${path}/:id`, (req, res) => {
    res.json({ data: present(findRow(req)) });
  });

  router.post(`${path}/:id`, parseForm, (req, res) => {
    const row = findRow(req);
    const values = readForm(schema, req.body, { creating: false });
    const uploads = readFiles(files, req);
    store.update(row, { ...toColumns(values, row), ...uploads });
    res.json({ data: { id: row.id } });
  });

  router.delete(`${path}/:id`, (req, res) => {
    store.remove(findRow(req));
    res.status(204).end();
  });

  return router;
}

function seed() {
  const towns = ['Oslo', 'Bergen', 'Kiel', 'Gdansk', 'Riga', 'Turku', 'Malmo'];
  const seasons = ['Spring', 'Summer', 'Autumn', 'Winter'];
  const types = Object.keys(settingKeys);
  const harbour = accounts.get('demo-key-harbour').id;
  const alpine = accounts.get('demo-key-alpine').id;
  const day = (n) => new Date(Date.UTC(2024, 0, 1 + n * 9, 8 + (n % 9), (n * 17) % 60, (n * 29) % 60));

  for (let i = 0; i < 28; i += 1) {
    const town = towns[i % towns.length];
    const season = seasons[Math.floor(i / towns.length)];
    const site = `${season}.${town}.example`.toLowerCase();
    const type = types[i % types.length];

    const name = `${season} ferry offer ${town}`;
    splashPages.store.insert(harbour, { ...splashPages.defaults(), name, title: `${season} in ${town}` }, day(i));

    const index = { custom_index_url: i % 3 === 0 ? `https://${site}/timetable` : '' };
    const enabled = { is_enabled: i % 4 !== 0 };
    domains.store.insert(harbour, { ...domains.defaults(), host: site, ...index, ...enabled }, day(i));

    const destination = {
      [type]: `https://hooks.${site}/${type}`,
      email: `crew@${site}`,
      telegram: `70000${i}:demo-token`,
      telegram_chat_id: `-100${i}`,
    };
    const columns = notificationHandlers.toColumns({ name: `${town} crew, ${season}`, type, ...destination });
    notificationHandlers.store.insert(harbour, { ...columns, is_enabled: i % 5 !== 0 }, day(i));
  }
  ['go.alpine.example', 'huts.alpine.example'].forEach((host, n) => {
    domains.store.insert(alpine, { ...domains.defaults(), host, is_enabled: true }, day(n));
  });
}

const app = express();
app.disable('x-powered-by').disable('etag');
app.enable('case sensitive routing');
app.use('/api', authenticate);
for (const resource of [splashPages, domains, notificationHandlers]) {
  app.use('/api', resourceRouter(resource));
}
app.use((req, res, next) => next(notFound()));

// Four parameters, or Express does not take it for an error handler.
app.use((err, req, res, next) => {
  if (res.headersSent) return next(err);
  const known = err.status >= 400 && err.status < 500;
  if (!known) {
    console.error(err);
    return res.status(500).json({ error: { code: 'internal_error', message: 'Something went wrong.' } });
  }
  const { code = 'bad_request', message, fields } = err;
  return res.status(err.status).json({ error: { code, message, fields } });
});

const port = Number(process.argv[2]);
if (!Number.isInteger(port) || port < 1 || port > 65535) {
  console.error('usage: node server.mjs PORT');
  process.exit(1);
}

seed();
app.listen(port, HOST, (err) => {
  if (err) throw err;
  console.log(`listening on http://${HOST}:${port}`);
});
