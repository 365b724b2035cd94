package objects

var namespaceNames = []string{
	"default", "payments", "checkout", "identity", "search", "catalog", "data-platform",
	"ml-serving", "observability", "ingress", "streaming", "staging-eu", "batch", "frontend",
	"kube-system", "messaging", "billing", "warehouse", "mobile-api", "partners",
}

var (
	systems = []string{
		"payment", "order", "cart", "catalog", "user", "session", "invoice", "shipping", "search", "ranking",
		"inventory", "pricing", "notification", "mail", "image", "media", "audit", "ledger", "fraud", "risk",
		"feature-flag", "experiment", "metrics", "trace", "log", "alert", "backup", "import", "export", "sync",
		"webhook", "gateway", "token", "policy", "quota", "tenant", "report", "billing", "rate", "geo",
	}
	roles = []string{
		"api", "worker", "frontend", "backend", "consumer", "producer", "scheduler", "controller", "proxy",
		"cache", "indexer", "aggregator", "exporter", "store", "router", "processor", "collector", "agent",
	}
	teams      = []string{"atlas", "borealis", "cobalt", "delta", "ember", "falcon", "granite", "harbor", "iris", "juniper", "krypton", "lumen"}
	registries = []string{"registry.example.com", "eu.images.example.net", "mirror.example.org/prod", "images.example.com/platform"}
	zones      = []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	machines   = []string{"m6i.2xlarge", "m6i.4xlarge", "c6i.4xlarge", "r6i.2xlarge", "m7g.4xlarge"}
	languages  = []string{"go", "java", "python", "node", "rust", "dotnet"}
	operators  = []string{"helm", "argocd", "flux", "kustomize"}
)

// plainVariables are environment variables with the values that they take.
var plainVariables = []struct {
	name   string
	values []string
}{
	{"LOG_LEVEL", []string{"info", "debug", "warn"}},
	{"LOG_FORMAT", []string{"json", "logfmt"}},
	{"ENVIRONMENT", []string{"production", "staging", "canary"}},
	{"REGION", []string{"eu-west-1", "eu-central-1", "us-east-1"}},
	{"HTTP_PORT", []string{"8080", "8000", "3000"}},
	{"GRPC_PORT", []string{"9090", "50051"}},
	{"METRICS_ADDR", []string{":9102", ":9090", "0.0.0.0:2112"}},
	{"GOMAXPROCS", []string{"1", "2", "4", "8"}},
	{"GOMEMLIMIT", []string{"450MiB", "900MiB", "1800MiB"}},
	{"JAVA_TOOL_OPTIONS", []string{"-XX:MaxRAMPercentage=75 -XX:+UseG1GC -XX:+ExitOnOutOfMemoryError", "-Xmx1g -Dfile.encoding=UTF-8"}},
	{"DATABASE_HOST", []string{"postgres-primary.data-platform.svc.cluster.local", "orders-db.rds.example.com", "mysql.warehouse.svc"}},
	{"DATABASE_POOL_SIZE", []string{"10", "20", "50"}},
	{"REDIS_ADDR", []string{"redis-master.cache.svc.cluster.local:6379", "redis-cluster.messaging.svc:6379"}},
	{"KAFKA_BROKERS", []string{"kafka-0.kafka.streaming.svc:9092,kafka-1.kafka.streaming.svc:9092,kafka-2.kafka.streaming.svc:9092"}},
	{"KAFKA_GROUP_ID", []string{"consumer-v1", "consumer-v2", "replayer"}},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", []string{"http://otel-collector.observability.svc.cluster.local:4317"}},
	{"OTEL_TRACES_SAMPLER_ARG", []string{"0.01", "0.1", "1"}},
	{"SENTRY_DSN", []string{"https://3c1f9e0d@sentry.example.com/42", "https://9ab4e220@sentry.example.com/17"}},
	{"CACHE_TTL_SECONDS", []string{"30", "300", "3600"}},
	{"REQUEST_TIMEOUT", []string{"5s", "15s", "1m"}},
	{"MAX_CONCURRENCY", []string{"16", "64", "256"}},
	{"FEATURE_NEW_CHECKOUT", []string{"true", "false"}},
	{"S3_BUCKET", []string{"prod-artifacts-eu", "prod-exports-eu", "media-originals"}},
	{"AWS_REGION", []string{"eu-west-1"}},
	{"TZ", []string{"UTC", "Europe/Berlin"}},
	{"RETRY_BACKOFF", []string{"exponential", "constant"}},
}

var secretVariables = []string{
	"DATABASE_PASSWORD", "API_TOKEN", "REDIS_PASSWORD", "STRIPE_KEY", "JWT_SIGNING_KEY",
	"SMTP_PASSWORD", "AWS_SECRET_ACCESS_KEY", "OAUTH_CLIENT_SECRET", "ENCRYPTION_KEY",
}

var configVariables = []string{"ALLOWED_ORIGINS", "PARTNER_ENDPOINT", "RATE_LIMITS", "DEFAULT_LOCALE", "SHARD_COUNT"}

// sidecars are the containers that run next to the main one.
var sidecars = []string{"istio-proxy", "log-shipper", "cloud-sql-proxy", "config-reloader", "metrics-exporter", "vault-agent"}
