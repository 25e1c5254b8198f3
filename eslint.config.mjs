import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** The attributes and fields of the console that people read. */
const READ =
  '/^(label|title|placeholder|aria-label|alt|description|legend|heading|hint|error|children|text|says|head|what|for|question|past|dismiss|submit|empty|all|then|yes|no)$/';
const LETTER = '/[A-Za-z]/';
/** A literal, or the parts of one with values. */
const LITERAL = `:matches(Literal[value=${LETTER}], TemplateLiteral:has(> TemplateElement[value.raw=${LETTER}]))`;
/**
 * The values that an expression may have: itself, the branches of a condition, and the right side
 * of && and ??.
 */
const valuesIn = (container) => [
  `${container} > ${LITERAL}`,
  `${container} > ConditionalExpression > ${LITERAL}:not(.test)`,
  `${container} > ConditionalExpression > ConditionalExpression > ${LITERAL}:not(.test)`,
  `${container} > LogicalExpression > ${LITERAL}.right`,
];
const ATTRIBUTE = `JSXAttribute[name.name=${READ}]`;
const CHILD = ':matches(JSXElement, JSXFragment) > JSXExpressionContainer';
const LITERAL_TEXTS = [
  `JSXText[value=${LETTER}]`,
  `${ATTRIBUTE} > ${LITERAL}`,
  ...valuesIn(`${ATTRIBUTE} > JSXExpressionContainer`),
  ...valuesIn(CHILD),
  `${ATTRIBUTE} > JSXExpressionContainer > ArrayExpression > ${LITERAL}`,
  ...valuesIn(`Property[key.name=${READ}]`),
  `CallExpression[callee.name='toast'] > ${LITERAL}`,
  `Property[key.value='aria-label'] > Literal.value`,
  // A sentence, or a word that opens one, wherever it stands.
  ':not(NewExpression, BinaryExpression) > Literal[value=/^[A-Z][a-z]+( |,|$)/]',
  'TemplateElement[value.raw=/^[A-Z][a-z]+:? |[a-z]{2,}:? [a-z]{2,}|^ [a-z]+/]:not(JSXAttribute[name.name="className"] TemplateElement)',
];

/** A literal gives each property its line, so that the eye finds names where it looks for them. */
const SHAPE = [
  {
    selector:
      ':matches(SpreadElement, JSXSpreadAttribute) > :matches(ObjectExpression, ArrayExpression)',
    message: 'A literal inside a literal is spread out: give each property its line.',
  },
  {
    selector: 'ObjectExpression > SpreadElement > LogicalExpression[operator="&&"]',
    message: 'Use defined() of shared/collections, which leaves out what is undefined.',
  },
  {
    selector: 'TSEnumDeclaration',
    message: 'Use a union of literals.',
  },
];

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/node_modules/**',
      'deploy/kafka/target/**',
      'coverage/**',
      '.waypost/**',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // It takes an eighth of the time. No enum may be declared here, and those of two libraries
      // are named in two folders.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: true },
      ],
      complexity: ['error', 32],
      curly: ['error', 'multi-line'],
      // Prettier breaks a chain before [method], which is no mistake.
      'no-unexpected-multiline': 'off',
      'no-restricted-syntax': ['error', ...SHAPE],
      'no-console': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    // Texts of the console live in its catalogue, so that they can be translated.
    files: ['console/src/**/*.{ts,tsx}'],
    // The last two write code.
    ignores: [
      'console/src/texts/**',
      'console/src/lib/snippets.ts',
      'console/src/audience/rows-to-cel.ts',
    ],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...SHAPE,
        ...LITERAL_TEXTS.map((selector) => ({
          selector,
          message: 'Texts belong into console/src/texts.',
        })),
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'tools/{chaos,harness}/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'it', message: 'Tests are written with `test` everywhere.' },
      ],
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
  { files: ['{bin,dev}/**/*.ts', 'tools/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['shared/kafka/{protocol,kafkajs}/*.ts'],
    // Bytes at indexes that were compared with the length.
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    files: ['**/*.js', '**/*.cjs'],
    languageOptions: {
      globals: {
        module: 'writable',
        require: 'readonly',
        process: 'readonly',
        __dirname: 'readonly',
      },
    },
  },
  {
    files: ['examples/**/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        'console process URL fetch crypto performance setImmediate document location localStorage'
          .split(' ')
          .map((name) => [name, 'readonly']),
      ),
    },
    rules: { 'no-console': 'off' },
  },
);
