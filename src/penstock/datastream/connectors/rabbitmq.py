"""RabbitMQ under PyFlink's module path."""

from penstock.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]
